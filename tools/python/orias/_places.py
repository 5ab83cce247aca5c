"""Finds the library and the programs: in this package, in the folder given by ORIAS_HOME (a build or an installation),
or on the system."""

from __future__ import annotations

import ctypes.util
import os
import shutil
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def _homes() -> list[Path]:
    named = os.environ.get("ORIAS_HOME")
    return [Path(named)] if named else [_PACKAGE]


def library() -> str:
    """The shared library. Raises ImportError if there is none."""
    for home in _homes():
        for folder in ("lib", "lib64", f"lib/{os.uname().machine}-linux-gnu"):
            path = home / folder / "liborias.so"
            if path.exists():
                return str(path)
    found = ctypes.util.find_library("orias")
    if found is None:
        raise ImportError("liborias.so was not found; ORIAS_HOME can name the folder of a build or an installation")
    return found


def program(name: str) -> str:
    """The path of `orias`, `orias-run`, ... Raises FileNotFoundError if there is none."""
    for home in _homes():
        path = home / "bin" / name
        if path.exists():
            return str(path)
    # The script of that name in this package would call this function again.
    found = None if not os.environ.get("ORIAS_HOME") and (_PACKAGE / "bin").exists() else shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"the program {name} was not found; ORIAS_HOME can name the folder of a build or an installation")
    return found
