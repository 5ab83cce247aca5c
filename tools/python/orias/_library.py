"""The C interface (orias_c.h), by ctypes."""

from __future__ import annotations

import ctypes
import functools
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint, c_void_p

from ._places import library

OK, INPUT_ERRORS, OPTION_ERRORS, INTERNAL_FAULT, OUT_OF_MEMORY, INVALID_ARGUMENT = range(6)
DIAGNOSTICS, LISTING, REMARKS, KERNEL_INFO, PHASES, USAGE, STATISTICS = range(7)
SEVERITIES = ("note", "warning", "error")
_API_VERSION = 1


class Input(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("text", c_char_p), ("bytes", c_size_t)]


class Message(ctypes.Structure):
    _fields_ = [
        ("severity", c_int),
        ("input", c_char_p),
        ("line", c_uint),
        ("column", c_uint),
        ("text", c_char_p),
        ("hint", c_char_p),
    ]


@functools.lru_cache(maxsize=None)
def api() -> ctypes.CDLL:
    """The loaded library. Raises ImportError if there is none, or another version of it."""
    lib = ctypes.CDLL(library())
    lib.orias_version.restype = c_char_p
    lib.orias_c_api_version.restype = c_uint
    if lib.orias_c_api_version() != _API_VERSION:
        raise ImportError(f"{library()} has version {lib.orias_c_api_version()} of the C interface, not {_API_VERSION}")
    lib.orias_ptx_versions.restype = POINTER(c_char_p)
    lib.orias_ptx_versions.argtypes = [POINTER(c_size_t)]
    lib.orias_assemble_inputs.restype = c_int
    lib.orias_assemble_inputs.argtypes = [POINTER(Input), c_size_t, POINTER(c_char_p), c_size_t, POINTER(c_void_p)]
    lib.orias_result_free.restype = None
    lib.orias_result_free.argtypes = [c_void_p]
    lib.orias_result_cubin.restype = c_void_p
    lib.orias_result_cubin.argtypes = [c_void_p, POINTER(c_size_t)]
    lib.orias_result_text.restype = c_void_p
    lib.orias_result_text.argtypes = [c_void_p, c_int, POINTER(c_size_t)]
    lib.orias_result_message_count.restype = c_size_t
    lib.orias_result_message_count.argtypes = [c_void_p]
    lib.orias_result_message.restype = c_int
    lib.orias_result_message.argtypes = [c_void_p, c_size_t, POINTER(Message)]
    return lib


class Result:
    """The outcome of one call; frees itself at the end of a `with`."""

    def __init__(self, inputs: list[tuple[str, bytes]], options: list[str]) -> None:
        self._api = api()
        self._handle = c_void_p()
        modules = (Input * len(inputs))(*(Input(name.encode(), text, len(text)) for name, text in inputs))
        words = (c_char_p * len(options))(*(option.encode() for option in options))
        self.status = self._api.orias_assemble_inputs(modules, len(inputs), words, len(options), ctypes.byref(self._handle))

    def __enter__(self) -> "Result":
        return self

    def __exit__(self, *_: object) -> None:
        self._api.orias_result_free(self._handle)

    def cubin(self) -> bytes:
        size = c_size_t()
        at = self._api.orias_result_cubin(self._handle, ctypes.byref(size))
        return ctypes.string_at(at, size.value) if at else b""

    def text(self, which: int) -> str:
        size = c_size_t()
        at = self._api.orias_result_text(self._handle, which, ctypes.byref(size))
        return ctypes.string_at(at, size.value).decode(errors="replace") if at else ""

    def messages(self) -> list[Message]:
        found = []
        for index in range(self._api.orias_result_message_count(self._handle)):
            message = Message()
            self._api.orias_result_message(self._handle, index, ctypes.byref(message))
            found.append(message)
        return found
