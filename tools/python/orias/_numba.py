"""numba-cuda with orias in place of the driver's assembler."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from ._assemble import Assembly, Knobs, assemble, ptx_versions

_VERSION = re.compile(r"^(\s*\.version\s+)(\d+)\.(\d+)", re.MULTILINE)


def _known_version(ptx: str) -> str:
    """The PTX with the newest `.version` that orias knows, if NVVM has written a newer one."""
    newest = ptx_versions()[-1]

    def lower(match: re.Match[str]) -> str:
        is_newer = (int(match[2]), int(match[3])) > tuple(map(int, newest.split(".")))
        return match[1] + newest if is_newer else match[0]

    return _VERSION.sub(lower, ptx, count=1)


class Numba:
    """A context in which numba-cuda's kernels are assembled by orias.

    >>> with orias.Numba() as recorded:
    ...     kernel[grid, block](x, y)
    >>> recorded.kernels["…"].functions[0].registers

    A kernel without other objects becomes a cubin directly; with other objects its PTX becomes an object for the
    linker. Link-time optimization does not use PTX; kernels that use it are not affected.

    NVVM of a newer toolkit writes a `.version` that orias does not know yet. It is lowered to the newest known one
    (orias.ptx_versions()); newer features are then errors at their line.
    """

    def __init__(self, *, knobs: Knobs | None = None, options: Iterable[str] = ()) -> None:
        self._knobs = dict(knobs or {})
        self._options = list(options)
        self._original: Callable[..., Any] | None = None
        self.kernels: dict[str, Assembly] = {}  #: by the name in the PTX, with listing and remarks; the last of a name

    def __enter__(self) -> "Numba":
        from numba.cuda.cudadrv import driver  # only here: numba is optional

        self._driver = driver
        self._original = driver._Linker.complete
        context = self

        def complete(linker: Any) -> Any:
            return context._complete(linker)

        driver._Linker.complete = complete
        return self

    def __exit__(self, *_: object) -> None:
        self._driver._Linker.complete = self._original

    def _complete(self, linker: Any) -> Any:
        codes = linker._object_codes
        make = self._driver.ObjectCode
        if len(codes) == 1 and codes[0].code_type == "ptx":
            done = self._assemble(linker, codes[0].code, relocatable=False)
            linker._info_log = linker._error_log = ""
            linker._complete = True
            return make.from_cubin(done.cubin, name=codes[0].name)
        linker._object_codes = [
            make.from_object(self._assemble(linker, code.code, relocatable=True).cubin, name=code.name) if code.code_type == "ptx" else code
            for code in codes
        ]
        assert self._original is not None
        return self._original(linker)

    def _assemble(self, linker: Any, ptx: str | bytes, *, relocatable: bool) -> Assembly:
        options = [*self._options, *(["-c"] if relocatable else []), *(["-lineinfo"] if linker.lineinfo else [])]
        text = ptx if isinstance(ptx, str) else ptx.rstrip(b"\0").decode()
        done = assemble(
            _known_version(text.rstrip("\0")),
            linker.arch,
            max_registers=linker.max_registers,
            knobs=self._knobs,
            options=options,
            listing=True,
            remarks=True,
        )
        for function in done.functions:
            if function.kernel:
                self.kernels[function.name] = done
        return done
