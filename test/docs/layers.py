#!/usr/bin/env python3
"""layers.py: the folders include only the folders below them, as CONTRIBUTING.md says."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# What each layer may include besides itself. Folders within a layer belong to it.
BELOW = {
    "support": set(),
    "encoder/isa": {"support"},
    "encoder/cubin": {"support", "encoder/isa"},
    "ori": {"support", "encoder/isa"},
    "frontend": {"support"},
    "frontend/lower": {"support", "encoder/isa", "ori", "frontend"},
    "frontend/module_phases": {"support", "frontend", "frontend/lower"},
    "regalloc": {"support", "encoder/isa", "ori"},
    "encoder": {"support", "encoder/isa", "encoder/cubin", "ori"},
    "phases": {"support", "encoder/isa", "encoder", "ori", "regalloc"},
}
BELOW["orias"] = set(BELOW)
BELOW["tools"] = set(BELOW)

INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.MULTILINE)


def layer_of(path: str) -> str | None:
    """The layer of a file: the longest one that contains it."""
    containing = [layer for layer in BELOW if path.startswith(layer + "/")]
    return max(containing, key=len, default=None)


def is_allowed(path: str, included: str) -> bool:
    layer, other = layer_of(path), layer_of(included)
    return other is None or other == layer or other in BELOW[layer]


def main() -> int:
    # The checks find something.
    if is_allowed("encoder/isa/table.cpp", "ori/instr.h") or is_allowed("encoder/code.h", "regalloc/frame.h"):
        sys.exit("an include of a higher layer is not found")
    if not is_allowed("encoder/emit.cpp", "ori/module.h") or not is_allowed("phases/manager.h", "ori/analysis/cfg.h"):
        sys.exit("an include of a lower layer is reported")
    wrong = 0
    for folder in sorted({layer.split("/")[0] for layer in BELOW}):
        for source in sorted((ROOT / folder).rglob("*")):
            if source.suffix not in (".cpp", ".h", ".inc", ".def"):
                continue
            path = str(source.relative_to(ROOT))
            for included in INCLUDE.findall(source.read_text()):
                if not is_allowed(path, included):
                    print(f"{path}: '{included}' is in a higher layer (CONTRIBUTING.md, Architecture)")
                    wrong += 1
    print(f"{wrong} includes of higher layers")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
