"""Triton with orias in place of ptxas."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from ._assemble import Assembly, Knobs, _knob_words, assemble
from ._places import program

# From Triton 3.9 on, the second is also used for sm_90.
_VARIABLES = ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH")
_CACHE = "TRITON_CACHE_DIR"

# Called by Triton in place of ptxas: records the PTX and the options, and assembles like ptxas.
_WRAPPER = """#!/bin/sh
case " $* " in *" --version "*) exec {orias} --version ;; esac
kept=$(mktemp -d {record}/XXXXXX) || exit 1
printf '%s\\n' "$@" {knobs} >"$kept/options"
for word; do
  case $word in *.ptx) cp "$word" "$kept/kernel.ptx" ;; esac
done
exec {orias} "$@" {knobs}
"""


class Triton:
    """A context in which Triton assembles with orias.

    >>> with orias.Triton(knobs={"SchedReuse": 0}) as recorded:
    ...     kernel[grid](x, y)
    >>> recorded.kernels["kernel"].functions[0].registers

    Triton's cache is an empty folder in this context, so that every kernel is compiled.
    """

    def __init__(self, *, knobs: Knobs | None = None, options: Iterable[str] = ()) -> None:
        self._words = [*_knob_words(knobs or {}), *options]
        self._saved: dict[str, str | None] = {}
        self._folder = ""
        self.kernels: dict[str, Assembly] = {}  #: by the name of the kernel, with listing and remarks; the last of a name

    def __enter__(self) -> "Triton":
        self._folder = tempfile.mkdtemp(prefix="orias-triton-")
        wrapper = Path(self._folder, "ptxas")
        record = Path(self._folder, "record")
        record.mkdir()
        knobs = " ".join(shlex.quote(word) for word in self._words)
        wrapper.write_text(_WRAPPER.format(orias=shlex.quote(program("orias")), record=shlex.quote(str(record)), knobs=knobs))
        wrapper.chmod(0o755)
        for variable, value in [*((name, str(wrapper)) for name in _VARIABLES), (_CACHE, str(Path(self._folder, "cache")))]:
            self._saved[variable] = os.environ.get(variable)
            os.environ[variable] = value
        _forget_ptxas()
        return self

    def __exit__(self, *_: object) -> None:
        for variable, value in self._saved.items():
            if value is None:
                os.environ.pop(variable, None)
            else:
                os.environ[variable] = value
        _forget_ptxas()
        try:
            for kept in sorted(Path(self._folder, "record").iterdir(), key=lambda path: path.stat().st_mtime):
                self._read(kept)
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _read(self, kept: Path) -> None:
        ptx = kept / "kernel.ptx"
        if not ptx.exists():
            return
        words = (kept / "options").read_text().splitlines()
        options = [w for i, w in enumerate(words) if w not in ("-o", str(ptx)) and not w.endswith(".ptx") and (i == 0 or words[i - 1] != "-o")]
        # Triton's own options give the architecture and the level.
        arch = next((w.split("=", 1)[1] for w in options if w.startswith(("--gpu-name=", "-arch="))), "sm_90")
        options = [w for w in options if not w.startswith(("--gpu-name=", "-arch="))]
        done = assemble(ptx.read_bytes(), arch, options=options, listing=True, remarks=True)
        for function in done.functions:
            if function.kernel:
                self.kernels[function.name] = done


def _forget_ptxas() -> None:
    """Clears Triton's caches of the assembler's path and version, which it determines only once."""
    for module_name, names in (
        ("triton.backends.nvidia.compiler", ("get_ptxas", "get_ptxas_version", "_path_to_binary")),
        ("triton.common.backend", ("path_to_ptxas",)),
    ):
        module = sys.modules.get(module_name)
        for name in names:
            clear = getattr(getattr(module, name, None), "cache_clear", None)
            if clear is not None:
                clear()
