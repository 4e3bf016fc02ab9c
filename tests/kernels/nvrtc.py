"""NVRTC of its wheel through ctypes: compiles CUDA text on a machine without a GPU."""

import ctypes
import importlib.util
from pathlib import Path


def library_path() -> Path | None:
    """The wheel's library, or None where the package nvidia-cuda-nvrtc is not installed."""
    spec = importlib.util.find_spec("nvidia")
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    found = sorted(path for folder in folders for path in Path(folder).glob("cu*/lib/libnvrtc.so.*"))
    return found[0] if found else None


class CompileError(RuntimeError):
    """NVRTC refused a text; the message is its log."""


class Nvrtc:
    """Compiles text for sm_90 with the options that the executor uses."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))

    def compile(self, text: str, options: tuple[str, ...], arch: str = "sm_90") -> tuple[str, bytes]:
        """(PTX, cubin) of the text; raises ``CompileError`` with the compiler's log."""
        program = ctypes.c_void_p()
        self._check(
            self._library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"program.cu", 0, None, None)
        )
        arguments = [option.encode() for option in (*options, f"--gpu-architecture={arch}")]
        array = (ctypes.c_char_p * len(arguments))(*arguments)
        code = self._library.nvrtcCompileProgram(program, len(arguments), array)
        if code:
            raise CompileError(self._text(program, "ProgramLog").decode())
        return self._text(program, "PTX").decode(), self._text(program, "CUBIN")

    def _text(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        self._check(getattr(self._library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(size.value)
        self._check(getattr(self._library, f"nvrtcGet{what}")(program, buffer))
        return buffer.raw

    @staticmethod
    def _check(code: int) -> None:
        if code:
            raise CompileError(f"NVRTC error {code}")
