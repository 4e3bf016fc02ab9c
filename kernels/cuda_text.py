"""A program printed as CUDA C++: pure text, no compilation.

One thread is a lane; its states are registers. Rows that vary lie side by side, one record a bar, and are read in
pairs by all threads of a warp at once; settings are arguments. Bars without events run a shorter body
(``kernels.specialise``), and what only a rare condition needs stands in a branch on it (``kernels.sinking``). Float
constants are hexadecimal, so that no compiler rounds them, and NaN is made canonical where values leave the kernel.
The text must be compiled without contraction of multiplications and additions (``--fmad=false``).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kernels.counters import counting_states, whole_registers
from kernels.opcodes import BOOL, OPCODES
from kernels.program import Program
from kernels.sinking import Branch, otherwise, schedule
from kernels.specialise import quiet

PRECISIONS = {"fp64": "double", "fp32": "float"}

_CANONICAL = {
    "fp64": "__longlong_as_double(0x7ff8000000000000LL)",
    "fp32": "__int_as_float(0x7fc00000)",
}

_AFRESH = (
    "__device__ __forceinline__ size_t afresh(size_t place) {",
    "#ifdef __CUDA_ARCH__",
    '    asm volatile("" : "+l"(place));',
    "#endif",
    "    return place;",
    "}",
)
"""A place as a number that the compiler cannot trace: without it the addresses of all states, known before the loop,
would sit in registers until the end.
"""


@dataclass(frozen=True)
class Shape:
    """How a program is laid over the device: threads a block, blocks wanted on a multiprocessor, bars unrolled."""

    threads: int = 128
    blocks: int = 1
    unroll: int = 1


@dataclass(frozen=True)
class Records:
    """Where the kernel finds rows: ``varying`` at their place in a bar's record, ``settings`` in an array of their own.

    A record is padded to ``width``, an even number of values.
    """

    varying: tuple[int, ...]
    settings: tuple[int, ...]

    @property
    def width(self) -> int:
        """Values of a record."""
        return max(len(self.varying) + len(self.varying) % 2, 2)


def records(program: Program) -> Records:
    """The rows that the program reads, those of bars without events first."""
    order = [item.detail for item in (*_shorter(program).instructions, *program.instructions) if item.op == "row"]
    read = tuple(dict.fromkeys(order))
    varying = tuple(row for row in read if row not in program.settings)
    return Records(varying, tuple(row for row in read if row in program.settings))


def family_count(program: Program) -> int:
    """Number of families that the program reads."""
    return 1 + max((item.detail[0] for item in program.instructions if item.op == "family"), default=-1)


def cuda_text(program: Program, precision: str = "fp64", shape: Shape = Shape()) -> str:
    """Source of the kernel ``run``; pure function of its arguments.

    ``run`` advances ``count`` lanes over bars [start, stop): ``rows`` [bars, record], ``event`` [bars], ``index``
    [families, lanes], ``lanes`` [lane values, lanes], ``states`` [states, lanes], updated in place,
    ``outputs`` [outputs, stop - start, lanes]; settings by value, so that they take no registers; and for each family
    its matrix and its number of columns, together fewer than 2^32 values. A thread is a lane.
    """
    printer = _Printer(program, precision, shape)
    return "\n".join(printer.lines()) + "\n"


def _shorter(program: Program) -> Program:
    return quiet(program) if program.events else program


class _Printer:
    """Prints one program for one precision."""

    def __init__(self, program: Program, precision: str, shape: Shape) -> None:
        self.program = program
        self.precision = precision
        self.shape = shape
        self.records = records(program)
        self.families = family_count(program)
        self.state = {state.name: place for place, state in enumerate(program.states)}
        self.counting = counting_states(program, _shorter(program))
        self.lanes = sorted({item.detail for item in program.instructions if item.op == "lane"})

    def lines(self) -> list[str]:
        real = PRECISIONS[self.precision]
        return [
            "// A walkfold program; written by kernels.cuda_text, named by its digest.",
            f"typedef {real} real;",
            f"typedef {real}2 real2;",
            "",
            f"__device__ __forceinline__ real canonical(real x) {{ return x != x ? {_CANONICAL[self.precision]} : x; }}",
            *_AFRESH,
            "",
            f'extern "C" __global__ void __launch_bounds__({self.shape.threads}, {self.shape.blocks})',
            f"run({', '.join(self._parameters())}) {{",
            *_indented(1, self._body()),
            "}",
        ]

    def _parameters(self) -> list[str]:
        fixed = [
            "const real* __restrict__ rows",
            "const unsigned char* __restrict__ event",
            "const int* __restrict__ index",
            "const real* __restrict__ lanes",
            "real* __restrict__ states",
            "real* __restrict__ outputs",
            "const int start",
            "const int stop",
            "const int count",
        ]
        fixed += [f"const real setting{row}" for row in self.records.settings]
        return fixed + [
            text
            for place in range(self.families)
            for text in (f"const real* __restrict__ family{place}", f"const int columns{place}")
        ]

    def _body(self) -> list[str]:
        lines = [
            "const int lane = blockIdx.x * blockDim.x + threadIdx.x;",
            "if (lane >= count) return;",
            "const size_t all = count;",
            *(self._opening(name, place) for name, place in self.state.items()),
            *(f"const real lane{place} = lanes[{place} * all + lane];" for place in self.lanes),
            *(f"const unsigned f{place} = index[{place} * all + lane];" for place in range(self.families)),
        ]
        if self.program.outputs:
            lines.append("real* out = outputs + lane;")
        return [
            *lines,
            f"#pragma unroll {self.shape.unroll}",
            f"for (int t = start; t < stop; ++t{', out += all' if self.program.outputs else ''}) {{",
            f"    const real* record = rows + (size_t)t * {self.records.width};",
            *_indented(1, self._bar()),
            "}",
            "real* last = states + afresh(lane);",
            *(f"last[{place} * all] = {self._closing(name, place)};" for name, place in self.state.items()),
        ]

    def _opening(self, name: str, place: int) -> str:
        kept = f"states[{place} * all + lane]"
        return f"int s{place} = (int){kept};" if name in self.counting else f"real s{place} = {kept};"

    def _closing(self, name: str, place: int) -> str:
        return f"(real)s{place}" if name in self.counting else f"canonical(s{place})"

    def _bar(self) -> list[str]:
        if not self.program.events:
            return self._step(self.program)
        return [
            "if (event[t]) {",
            *_indented(1, self._step(self.program)),
            "} else {",
            *_indented(1, self._step(quiet(self.program))),
            "}",
        ]

    def _step(self, program: Program) -> list[str]:
        self.whole = whole_registers(program, self.counting)
        lines = self._loads(program)
        for part in schedule(program):
            if isinstance(part, Branch):
                lines += self._branch(program, part)
            else:
                lines.append(f"const {self._define(program, part)}")
        steps = "(size_t)(stop - start) * all"
        for place, output in enumerate(program.outputs):
            value = f"canonical({self._operand(program, output.register)})"
            lines.append(f"out[{place} * {steps}] = {value};" if place else f"*out = {value};")
        for state in program.states:
            item = program.instructions[state.register]
            if not (item.op == "state" and item.detail == state.name):
                lines.append(f"s{self.state[state.name]} = v{state.register};")
        return lines

    def _loads(self, program: Program) -> list[str]:
        rows = {item.detail for item in program.instructions if item.op == "row"} - set(self.records.settings)
        pairs = sorted({self.records.varying.index(row) // 2 for row in rows})
        return [f"const real2 r{pair} = __ldg((const real2*)(record + {2 * pair}));" for pair in pairs]

    def _branch(self, program: Program, branch: Branch) -> list[str]:
        lines = []
        for member in branch.members:
            if member not in branch.local:
                kept = otherwise(program, member)
                kind = self._type(program, member)
                lines.append(f"{kind} v{member} = {'false' if kept is None else f'v{kept}'};")
        body = []
        for register in branch.body:
            outside = register in branch.members and register not in branch.local
            text = self._define(program, register)
            body.append(text.split(" ", 1)[1] if outside else f"const {text}")
        return [*lines, f"if (v{branch.condition}) {{", *_indented(1, body), "}"]

    def _define(self, program: Program, register: int) -> str:
        return f"{self._type(program, register)} v{register} = {self._expression(program, register)};"

    def _type(self, program: Program, register: int) -> str:
        item = program.instructions[register]
        return "bool" if item.type == BOOL else "int" if self._integer(program, register) else "real"

    def _integer(self, program: Program, register: int) -> bool:
        return register in self.whole and program.instructions[register].op != "constant"

    def _operand(self, program: Program, register: int, *, whole: bool = False) -> str:
        """A register as an operand: of an instruction over whole numbers, or of one over floats."""
        item = program.instructions[register]
        if whole and item.op == "constant" and item.type != BOOL:
            return str(int(item.detail))
        return f"v{register}" if whole or not self._integer(program, register) else f"(real)v{register}"

    def _expression(self, program: Program, register: int) -> str:
        item = program.instructions[register]
        if item.op in OPCODES:
            numbers = item.operands[1:] if item.op == "select" else item.operands
            whole = self._integer(program, register) or (item.type == BOOL and self.whole.issuperset(numbers))
            return OPCODES[item.op].cuda.format(*(self._operand(program, n, whole=whole) for n in item.operands))
        if item.op == "constant":
            return self._number(item.detail)
        if item.op == "state":
            return f"s{self.state[item.detail]}"
        if item.op == "family":
            family, lag = item.detail
            bar = f"(t - {lag})" if lag else "t"
            return f"__ldg(family{family} + ({bar} * (unsigned)columns{family} + f{family}))"
        if item.op == "lane":
            found = f"lane{item.detail}"
        elif item.detail in self.records.settings:
            found = f"setting{item.detail}"
        else:
            place = self.records.varying.index(item.detail)
            found = f"r{place // 2}.{'xy'[place % 2]}"
        return f"{found} != 0" if item.type == BOOL else found

    def _number(self, content: float | bool) -> str:
        if isinstance(content, bool):
            return "true" if content else "false"
        if self.precision == "fp32":
            with np.errstate(over="ignore"):
                content = float(np.float32(content))
        if math.isnan(content):
            return _CANONICAL[self.precision]
        if math.isinf(content):
            bits = (
                "__longlong_as_double(0x7ff0000000000000LL)"
                if self.precision == "fp64"
                else "__int_as_float(0x7f800000)"
            )
            return f"-{bits}" if content < 0 else bits
        return content.hex() + ("f" if self.precision == "fp32" else "")


def _indented(levels: int, lines: Iterable[str]) -> list[str]:
    return [line if line.startswith("#") else f"{'    ' * levels}{line}" for line in lines]
