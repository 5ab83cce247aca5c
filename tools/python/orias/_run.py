"""Runs a launch without a GPU."""

from __future__ import annotations

import contextlib
import html
import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._places import program


class RunError(RuntimeError):
    """The launch could not be run: an error in the launch file, the program or the options."""


@dataclass(frozen=True)
class Run:
    """The results of a run."""

    good: bool  #: completed, with all results that the launch file expects
    completed: bool
    warp_instructions: int
    thread_instructions: int
    buffers: dict[str, str]  #: the values requested by "print" in the launch file
    wrong: list[Any]  #: differences from the expected values
    reports: list[Any]  #: faults of memory, races, hazards
    statistics: dict[str, float] = field(repr=False)

    @property
    def cycles(self) -> float | None:
        """Estimated cycles of the launch; None for PTX, which the interpreter runs."""
        return self.statistics.get("estimated cycles")

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{html.escape(name)}</td><td>{value:g}</td></tr>" for name, value in self.statistics.items())
        return f"<p>{'as expected' if self.good else 'not as expected'}</p><table><tbody>{rows}</tbody></table>"


def run(
    launch: str | os.PathLike[str] | Mapping[str, Any],
    program_file: str | os.PathLike[str] | None = None,
    *,
    assemble: bool = True,
    options: Iterable[str] = (),
    timeout: float | None = None,
) -> Run:
    """Runs a launch on this computer's processor.

    launch        a launch file, or its contents as a dictionary (file names in it are then relative to the current folder)
    program_file  the PTX, cubin or Ori text; the launch file's, if None
    assemble      assemble PTX and run the cubin in the emulator; otherwise the PTX interpreter runs it
    options       further options of `orias-run`: "--memcheck", "--racecheck", "--timing", "--full-machine", "--knob=NAME=VALUE"
    timeout       in seconds

    Raises RunError where nothing could be run, subprocess.TimeoutExpired after the timeout.
    """
    words = [program("orias-run"), "--json", "--stats"]
    if assemble and (program_file is None or Path(program_file).suffix == ".ptx"):
        words.append("--assemble")
    words += options
    with contextlib.ExitStack() as stack:
        if isinstance(launch, Mapping):
            written = stack.enter_context(tempfile.NamedTemporaryFile("w", suffix=".json", dir=".", prefix=".orias-"))
            json.dump(launch, written)
            written.flush()
            words.append(written.name)
        else:
            words.append(os.fspath(launch))
        if program_file is not None:
            words.append(os.fspath(program_file))
        done = subprocess.run(words, capture_output=True, text=True, timeout=timeout)
    try:
        report = json.loads(done.stdout)
    except json.JSONDecodeError:
        raise RunError((done.stderr or done.stdout).strip() or f"orias-run ended with {done.returncode}") from None
    return Run(
        good=report["good"],
        completed=report["completed"],
        warp_instructions=report["warpInstructions"],
        thread_instructions=report["threadInstructions"],
        buffers=report["buffers"],
        wrong=report["wrong"],
        reports=report["reports"],
        statistics=report.get("stats", {}),
    )
