#!/usr/bin/env python3
"""Makes the pictures of docs/report.md again, with the programs of a build.

    test/page/pictures.py build/release/bin

Needs Chromium. Look at the pictures before you commit them.
"""

import pathlib
import subprocess
import sys
import tempfile

from browser import Browser, find

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNEL = "#phase=101&at=0x2d0&tab=instruction"
PHASES = "#phase=74&both=1&line=34&tab=pressure&theme=dark"


def main():
    if len(sys.argv) != 2 or not find():
        sys.exit(__doc__)
    programs = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        kernel, store, sweep = folder / "histogram.html", folder / "results.db", folder / "sweep.html"
        for command in (["orias", f"--report={kernel}", "--report-launch=examples/histogram.json", "-o", folder / "k.cubin"],
                        ["orias-lab", "sweep", "tools/lab/plans/examples.json", f"--store={store}"],
                        ["orias-lab", "report", store, "-o", sweep]):
            subprocess.run([programs / command[0], *command[1:]], check=True, cwd=ROOT)
        for page, address, size, picture in ((kernel, KERNEL, (1800, 900), "report-kernel"),
                                             (kernel, PHASES, (1600, 800), "report-phases"),
                                             (sweep, "", (1300, 1020), "report-sweep")):
            with Browser(*size) as browser:
                browser.open(page, address)
                browser.screenshot(ROOT / "docs" / f"{picture}.png")


if __name__ == "__main__":
    main()
