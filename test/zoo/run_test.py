#!/usr/bin/env python3
"""Whether `run` distinguishes a program that makes wrong code from one that does not, keeps its results, and measures
again after a program has changed.

run_test.py ORIAS_RUN FILE.ptx...
"""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "peers"))
import real_kernels_test  # noqa: E402
import tools  # noqa: E402


def run(orias_run, folder, files):
    """(exit status, rows by name, whether anything was measured)."""
    results = folder / "results.json"
    command = [sys.executable, str(HERE / "run"), "--orias-run", orias_run, "--results", str(results), "--page", str(folder / "page.md"), *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not results.exists():
        sys.exit(done.stderr)
    return done.returncode, json.loads(results.read_text())["rows"], "measured" in done.stderr


def main():
    orias_run, files = sys.argv[1], sys.argv[2:]
    if not tools.find("ptxas"):
        print("skipped, no peer: ptxas")
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        status, rows, _ = run(orias_run, folder, files)
        found = [result for row in rows.values() for result in row["results"]]
        counted = ("executed", "cycles", "full_cycles", "resident_warps")
        if status != 0 or not all(r["verdict"] == "agrees" and all(r["figures"][figure] > 0 for figure in counted) for r in found):
            sys.exit(f"status {status}; kernels that agree are said to be {found}")
        if run(orias_run, folder, files)[2]:
            sys.exit("files are measured again although nothing has changed")
        wrong = real_kernels_test.stand_in(folder, orias_run, real_kernels_test.WRONG)
        status, rows, is_measured = run(wrong, folder, files)
        verdicts = [result["verdict"] for row in rows.values() for result in row["results"]]
        if status != 1 or "differs" not in verdicts or not is_measured:
            sys.exit(f"status {status}; kernels of a wrong program are said to be {verdicts}")
        if "leaves other memory" not in (folder / "page.md").read_text():
            sys.exit("the page does not name the kernel that differs")
    print("the planted difference is found; results are kept and made anew when they have to be")


if __name__ == "__main__":
    main()
