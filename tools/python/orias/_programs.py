"""The programs, as scripts of the Python package."""

from __future__ import annotations

import os
import sys

from ._places import program


def _call(name: str) -> None:
    path = program(name)
    os.execv(path, [path, *sys.argv[1:]])


def orias() -> None:
    _call("orias")


def orias_run() -> None:
    _call("orias-run")


def orias_dis() -> None:
    _call("orias-dis")


def orias_reduce() -> None:
    _call("orias-reduce")


def orias_lab() -> None:
    _call("orias-lab")
