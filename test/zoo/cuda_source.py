"""nvcc for compilers that generate CUDA code: from the path, or PyPI's next to the compiler."""
import pathlib
import shutil
import subprocess
import sys
import tempfile


def nvcc():
    found = shutil.which("nvcc") or next(map(str, pathlib.Path(sys.prefix).glob("lib/python*/site-packages/nvidia/*/bin/nvcc")), None)
    if not found:
        raise FileNotFoundError("there is no nvcc")
    return found


def compile_to_ptx(source, chip, target, include=()):
    """Writes the PTX of CUDA code to `target`."""
    with tempfile.TemporaryDirectory() as scratch:
        file, made = pathlib.Path(scratch) / "kernel.cu", pathlib.Path(scratch) / "kernel.ptx"
        file.write_text(source, encoding="utf-8")
        command = [nvcc(), "-ptx", "-w", "-std=c++17", "--expt-relaxed-constexpr", "-arch=" + chip.replace("sm_", "compute_"),
                   *(f"-I{folder}" for folder in include), file.name, "-o", made.name]
        done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[-300:]))
        shutil.copyfile(made, target)
