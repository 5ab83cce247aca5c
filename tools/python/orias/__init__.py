"""orias: an open, inspectable assembler for NVIDIA PTX.

>>> import orias
>>> done = orias.assemble(ptx, arch="sm_90", listing=True)
>>> done.functions[0].registers
>>> cuda_module_load_data(done.cubin)

`assemble` compiles PTX; `run` runs a launch file without a GPU. Within `Triton()` and `Numba()` those compilers
assemble with orias, and the results can be inspected afterwards.
"""

from ._assemble import (
    AssemblyError,
    Assembly,
    Diagnostic,
    FrameObject,
    FunctionStatistics,
    InternalError,
    OptionError,
    assemble,
    ptx_versions,
    version,
)
from ._numba import Numba
from ._run import Run, RunError, run
from ._triton import Triton

__all__ = [
    "Assembly",
    "AssemblyError",
    "Diagnostic",
    "FrameObject",
    "FunctionStatistics",
    "InternalError",
    "Numba",
    "OptionError",
    "Run",
    "RunError",
    "Triton",
    "assemble",
    "ptx_versions",
    "run",
    "version",
]
__version__ = version()
