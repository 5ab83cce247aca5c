#!/usr/bin/env python3
"""Packs a few cases and runs the folder: on the emulator to their results, and on the driver of the tests, with a kernel that hangs and
one that faults; as root also in a root folder with nothing but the pack, a shell and the driver.

    pack_test.py SOURCE_DIR BUILD_DIR FAKE_DRIVER
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

source, build, driver = (pathlib.Path(word).resolve() for word in sys.argv[1:])


def call(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **options)
    return done.returncode, done.stdout + done.stderr


def need(condition, what):
    if not condition:
        sys.exit(f"pack_test: {what}")


def results(folder):
    lines = (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def outcomes(folder, group):
    return [(r["name"], r["candidate"], r["outcome"]) for r in results(folder) if r["group"] == group]


def check_fake(folder, said):
    """What the driver of the tests makes of the groups that it knows."""
    trivial = outcomes(folder, "trivial")
    need(trivial and all(o == "right" for _, _, o in trivial), f"trivial: {trivial}\n{said}")
    ours = [(n, o) for n, c, o in outcomes(folder, "fake") if c == "orias -O3"]
    need(ours == [("1_add", "right"), ("2_hang", "hung"), ("3_stop", "right"), ("4_add", "right")], f"fake: {ours}\n{said}")
    page = (folder / "report.html").read_text(encoding="utf-8")
    need("fake/2_hang/orias -O3" in page and "<script" not in page and "http" not in page, "the page")
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    need(any(g["group"] == "fake" and g["hung"] >= 1 for g in report["groups"]), "report.json")


def run_bare(pack, folder):
    """In a root folder of its own, where there is no library but those of the shell."""
    if list((pack / "lib").glob("libasan*")):
        print("a program with AddressSanitizer needs /proc: the folder was not tried in a root of its own")
        return
    root = folder / "root"
    shutil.copytree(pack, root / "pack")
    shell = pathlib.Path("/bin/sh").resolve()
    _, linked = call("ldd", shell)
    for path in ["/bin/sh", *re.findall(r"(/\S+) \(0x", linked)]:
        to = root / path.lstrip("/")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(pathlib.Path(path).resolve(), to)
    (root / "usr/lib64").mkdir(parents=True, exist_ok=True)
    shutil.copy(driver, root / "usr/lib64/libcuda.so.1")
    (root / "tmp").mkdir()
    chroot = shutil.which("chroot", path="/usr/sbin:/usr/bin:/sbin:/bin")
    if not chroot or call(chroot, root, "/bin/sh", "-c", ":", env={})[0] != 0:
        print("chroot does not work here: the folder was not tried in a root of its own")
        return
    status, said = call(chroot, root, "/pack/run", "--only", "trivial", "--only", "fake", "--limit", "3", env={})
    need(status == 1, f"chroot: status {status}\n{said}")
    check_fake(root / "pack/results", said)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        pack = folder / "pack"
        status, said = call(source / "tools/gpu/pack", "--build", build, "--small", "--jobs", 2, pack, "--", "--no-ptxas",
                            "--launches", f"fake={source / 'test/gpu/fake'}")
        need(status == 0, f"pack: status {status}\n{said}")
        print(said, end="")
        # Files of the build folder are not needed any more; nothing of the environment is.
        environment = {"ORIAS_CUDA_DRIVER": str(driver), "PATH": "/usr/bin:/bin"}
        status, said = call(pack / "run", "--list", env=environment)
        need(status == 0 and "latency" in said and "families" in said, f"--list: {said}")
        status, said = call(pack / "run", "--only", "trivial", "--only", "fake", "--limit", "3", env=environment)
        need(status == 1, f"run: status {status}\n{said}")
        check_fake(pack / "results", said)
        status, said = call(pack / "run", "--out", folder / "none", env={"FAKE_CUDA_DEVICES": "0", **environment})
        need(status == 77 and "skipped" in said, f"without a device: status {status}\n{said}")
        if os.geteuid() == 0:
            run_bare(pack, folder)
        else:
            print("not root: the folder was not tried in a root of its own")

        # The same cases to their results.
        out = folder / "emulated"
        status, said = call(build / "test/gpu/orias_gpu_emulated", "--out", out, "--limit", "60", pack / "cases")
        wrong = [r for r in results(out) if r["outcome"] != "right"]
        # With less than the cycles of the table nothing goes wrong on the emulator, which does not look at time here.
        need(status == 0 and not wrong, f"emulated: status {status}, wrong: {wrong[:5]}\n{said}")
        groups = {r["group"] for r in results(out)}
        need({"trivial", "families", "examples", "latency", "forms", "random"} <= groups, f"groups: {groups}")
        need(any("cyclesPerStep" in r for r in results(out)), "no cycles were measured")
        print(f"{len(results(out))} items on the emulator are right")


main()
