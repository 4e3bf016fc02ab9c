"""T01: machine code of CUDA programs is found again by all of text, options, architecture and the compiler's build.

NVRTC is the wheel's; what loads the machine code stands for cupy, so that no GPU is needed.
"""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from kernels import cuda_modules, program_cache
from kernels.cuda_modules import CudaCompileError, Modules
from tests.kernels.nvrtc import CompileError, Nvrtc, library_path

TEXT = 'extern "C" __global__ void run(double* a) {{ a[0] = {}; }}'


@pytest.fixture
def compiled(monkeypatch):
    """The texts that NVRTC compiled, empty ones left out."""
    path = library_path()
    if path is None:
        pytest.skip("nvidia-cuda-nvrtc is not installed")
    library, texts = Nvrtc(path), []
    cupy, cuda, nvrtc = ModuleType("cupy"), ModuleType("cupy.cuda"), ModuleType("cupy.cuda.nvrtc")
    nvrtc.build, nvrtc.NVRTCError = b"", CompileError

    def compile_program(program, options):
        program.ptx, program.cubin = library.compile(program.text, options[:-1], options[-1].rpartition("=")[2])
        texts.extend([program.text] if program.text else [])

    nvrtc.createProgram = lambda text, *_: SimpleNamespace(text=text)
    nvrtc.compileProgram = compile_program
    nvrtc.getPTX = lambda program: program.ptx.encode() + nvrtc.build
    nvrtc.getCUBIN = lambda program: program.cubin
    nvrtc.getProgramLog = lambda program: ""
    nvrtc.destroyProgram = lambda program: None
    cuda.nvrtc, cuda.capability = nvrtc, "90"
    cuda.Device = lambda: SimpleNamespace(compute_capability=cuda.capability)
    cupy.cuda = cuda
    function = SimpleNamespace(num_regs=8, local_size_bytes=0)
    cupy.RawModule = lambda path: SimpleNamespace(get_function=lambda name: function)
    for name, module in {"cupy": cupy, "cupy.cuda": cuda, "cupy.cuda.nvrtc": nvrtc}.items():
        monkeypatch.setitem(sys.modules, name, module)
    cuda_modules._compiler.cache_clear()
    yield texts
    cuda_modules._compiler.cache_clear()


def test_t01_a_text_with_another_constant_is_other_machine_code(compiled, tmp_path):
    kernels = [Modules(tmp_path).kernel(TEXT.format(constant)) for constant in (240, 240, 3)]
    assert [kernel.cached for kernel in kernels] == [False, True, False]
    assert compiled == [TEXT.format(240), TEXT.format(3)]
    first, _, last = [(tmp_path / f"program_{kernel.digest}.cubin").read_bytes() for kernel in kernels]
    assert first != last and first.startswith(b"\x7fELF")


def test_t01_another_build_of_the_compiler_compiles_again(compiled, tmp_path):
    nvrtc = sys.modules["cupy.cuda.nvrtc"]
    nvrtc.getVersion = lambda: (13, 5)  # the same for both builds
    first = Modules(tmp_path).kernel(TEXT.format(1))
    nvrtc.build = b"// V13.5.38"
    cuda_modules._compiler.cache_clear()  # another process
    second = Modules(tmp_path).kernel(TEXT.format(1))
    assert not second.cached and first.digest != second.digest


def test_another_architecture_compiles_again(compiled, tmp_path):
    first = Modules(tmp_path).kernel(TEXT.format(1))
    sys.modules["cupy.cuda"].capability = "100"
    second = Modules(tmp_path).kernel(TEXT.format(1))
    assert not second.cached and first.digest != second.digest


def test_machine_code_used_longest_ago_makes_room(compiled, tmp_path, monkeypatch):
    monkeypatch.setattr(program_cache, "MOST_PROGRAMS", 2)
    digests = [Modules(tmp_path).kernel(TEXT.format(constant)).digest for constant in (1, 2, 1, 3)]
    assert {path.name for path in tmp_path.iterdir()} == {f"program_{digest}.cubin" for digest in digests[2:]}


def test_a_text_that_is_refused_leaves_nothing(compiled, tmp_path):
    with pytest.raises(CudaCompileError, match="nonsense"):
        Modules(tmp_path).kernel('extern "C" __global__ void run() { nonsense; }')
    assert list(tmp_path.iterdir()) == []
