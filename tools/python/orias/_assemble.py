"""Assembles PTX to a cubin with its metadata."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping
from ctypes import byref, c_size_t
from dataclasses import dataclass, field
from typing import Any, Union

from . import _library
from ._library import Result

Knobs = Mapping[str, Union[int, float, bool, str]]


@dataclass(frozen=True)
class Diagnostic:
    """An error, warning or note. `line` and `column` count from 1; 0: no location."""

    severity: str  # "note", "warning" or "error"
    line: int
    column: int
    message: str
    hint: str = ""


class AssemblyError(ValueError):
    """The PTX has errors. `line` and `column` are those of the first error; `diagnostics` has all."""

    def __init__(self, text: str, diagnostics: list[Diagnostic]) -> None:
        super().__init__(text)
        self.diagnostics = diagnostics
        first = next((d for d in diagnostics if d.severity == "error"), None)
        self.line = first.line if first else 0
        self.column = first.column if first else 0


class OptionError(ValueError):
    """An option, an architecture or a knob is invalid."""


class InternalError(RuntimeError):
    """An internal error of orias."""


@dataclass(frozen=True)
class FrameObject:
    """An object of the stack frame of a function; `category` is that of `orias::FrameObjectReport`."""

    name: str
    offset: int
    size: int
    align: int
    dead: bool
    spill_slot: bool
    category: int


@dataclass(frozen=True)
class FunctionStatistics:
    """The statistics of a function. Bytes of frame, stack and spills are per thread, shared bytes per CTA. For kernels,
    also the warps that fit on a multiprocessor in blocks of `threads_per_block`, and what limits them."""

    name: str
    kernel: bool
    registers: int
    uniform_registers: int
    barriers: int
    instructions: int
    shared_bytes: int
    constant_bytes: int
    frame_bytes: int
    stack_bytes: int
    unknown_stack: bool
    frame: list[FrameObject]
    spill_store_bytes: int
    spill_load_bytes: int
    rematerialised: int
    threads_per_block: int
    warps: int
    max_warps: int
    limited_by: str


@dataclass(frozen=True)
class Assembly:
    """A cubin with its metadata. Texts that were not requested are empty."""

    cubin: bytes = field(repr=False)
    functions: list[FunctionStatistics]
    listing: str = field(default="", repr=False)
    remarks: list[dict[str, Any]] = field(default_factory=list, repr=False)
    kernel_info: list[dict[str, Any]] = field(default_factory=list, repr=False)
    phases: str = field(default="", repr=False)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def _repr_html_(self) -> str:
        columns = ("name", "registers", "uniform_registers", "instructions", "shared_bytes", "spill_store_bytes", "spill_load_bytes")
        head = "".join(f"<th>{name.replace('_', ' ')}</th>" for name in columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(str(getattr(function, name)))}</td>" for name in columns) + "</tr>"
            for function in self.functions
        )
        shown = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        if self.listing:
            shown += f"<details><summary>SASS</summary><pre>{html.escape(self.listing)}</pre></details>"
        return shown


def version() -> str:
    """The version of the library."""
    return _library.api().orias_version().decode()


def ptx_versions() -> list[str]:
    """The accepted PTX ISA versions, from the oldest."""
    count = c_size_t()
    names = _library.api().orias_ptx_versions(byref(count))
    return [names[i].decode() for i in range(count.value)]


def _knob_words(knobs: Knobs) -> list[str]:
    return [f"--knob={name}={int(value) if isinstance(value, bool) else value}" for name, value in knobs.items()]


def assemble(
    ptx: str | bytes | Iterable[str | bytes],
    arch: str = "sm_90",
    *,
    opt_level: int = 3,
    max_registers: int | None = None,
    knobs: Knobs | None = None,
    options: Iterable[str] = (),
    listing: bool | str = False,
    remarks: bool = False,
    kernel_info: bool = False,
    name: str = "<input>",
) -> Assembly:
    """Assembles PTX to a cubin.

    ptx            the text of one module, or of several that make one program
    arch           `sm_90`, `sm_80`, …; `compute_90` checks the PTX only, and gives no cubin
    opt_level      0 to 4
    max_registers  per thread
    knobs          by name (`orias --list-knobs`)
    options        further options of the program `orias`, one word each
    listing        True, "plain", "annotated" or "json": fill Assembly.listing
    remarks        fill Assembly.remarks with the decisions of the phases
    kernel_info    fill Assembly.kernel_info with the metrics of each kernel
    name           of the input, in messages

    Raises AssemblyError for errors in the PTX, OptionError for those in the options, InternalError for faults of orias.
    """
    texts = [ptx] if isinstance(ptx, (str, bytes)) else list(ptx)
    if not texts:
        raise ValueError("there is no PTX")
    names = [name] if len(texts) == 1 else [f"{name}:{i}" for i in range(len(texts))]
    words = [f"-arch={arch}", f"-O{opt_level}"]
    if max_registers is not None:
        words.append(f"-maxrregcount={max_registers}")
    words += _knob_words(knobs or {})
    if listing:
        words += ["--listing", f"--listing-format={'annotated' if listing is True else listing}"]
    if remarks:
        words.append("--remarks=-")
    if kernel_info:
        words += ["--kernel-info", "--kernel-info-format=json"]
    words += options
    inputs = [(n, text.encode() if isinstance(text, str) else text) for n, text in zip(names, texts)]
    with Result(inputs, words) as result:
        return _outcome(result)


def _outcome(result: Result) -> Assembly:
    if result.status == _library.OUT_OF_MEMORY:
        raise MemoryError("orias is out of memory")
    if result.status == _library.INVALID_ARGUMENT:
        raise ValueError("an argument is empty")
    diagnostics = [
        Diagnostic(_library.SEVERITIES[m.severity], m.line, m.column, m.text.decode(errors="replace"), m.hint.decode(errors="replace"))
        for m in result.messages()
    ]
    text = result.text(_library.DIAGNOSTICS).rstrip()
    if result.status == _library.INPUT_ERRORS:
        raise AssemblyError(text, diagnostics)
    if result.status == _library.OPTION_ERRORS:
        raise OptionError(diagnostics[0].message if diagnostics else text)
    if result.status != _library.OK:
        raise InternalError(text)

    def parsed(which: int, otherwise: Any) -> Any:
        found = result.text(which)
        return json.loads(found) if found else otherwise

    statistics = parsed(_library.STATISTICS, {"functions": []})
    return Assembly(
        cubin=result.cubin(),
        functions=[
            FunctionStatistics(**{**function, "frame": [FrameObject(**o) for o in function["frame"]]})
            for function in statistics["functions"]
        ],
        listing=result.text(_library.LISTING),
        remarks=parsed(_library.REMARKS, []),
        kernel_info=parsed(_library.KERNEL_INFO, []),
        phases=result.text(_library.PHASES),
        diagnostics=diagnostics,
    )
