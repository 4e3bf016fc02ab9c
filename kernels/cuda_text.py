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

from kernels.opcodes import BOOL, F64, OPCODES
from kernels.program import Instruction, Program
from kernels.sinking import Branch, otherwise, schedule
from kernels.specialise import quiet

PRECISIONS = {"fp64": "double", "fp32": "float"}

_CANONICAL = {
    "fp64": "__longlong_as_double(0x7ff8000000000000LL)",
    "fp32": "__int_as_float(0x7fc00000)",
}

_PREFETCH = (
    "__device__ __forceinline__ void prefetch(const real* address) {",
    "#ifdef __CUDA_ARCH__",
    '    asm volatile("prefetch.global.L1 [%0];" :: "l"(address));',
    "#endif",
    "}",
)


@dataclass(frozen=True)
class Shape:
    """How a program is laid over the device: threads a block, blocks wanted on a multiprocessor, bars unrolled, and how
    many bars ahead families are called into the nearest cache (0: not at all).
    """

    threads: int = 128
    blocks: int = 1
    unroll: int = 1
    ahead: int = 1


SHAPES = {"fp64": Shape(), "fp32": Shape(unroll=4, ahead=0)}
"""What was fastest on an H200 without spilling (docs/benchmarks/sweep_cuda.md)."""


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


def cuda_text(program: Program, precision: str = "fp64", shape: Shape | None = None) -> str:
    """Source of the kernel ``run``; pure function of its arguments.

    ``run`` advances ``count`` lanes over bars [start, stop): ``rows`` [bars, record], ``event`` [bars], ``index``
    [families, lanes], ``lanes`` [lane values, lanes], ``states`` [states, lanes], updated in place,
    ``outputs`` [outputs, stop - start, lanes]; settings by value, so that they take no registers; and for each family
    its matrix and its number of columns. Thread n runs lane ``order[n]``.
    """
    printer = _Printer(program, precision, shape or SHAPES[precision])
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
        self.lanes = sorted({item.detail for item in program.instructions if item.op == "lane"})

    def lines(self) -> list[str]:
        real = PRECISIONS[self.precision]
        return [
            "// A walkfold program; written by kernels.cuda_text, named by its digest.",
            f"typedef {real} real;",
            f"typedef {real}2 real2;",
            "",
            f"__device__ __forceinline__ real canonical(real x) {{ return x != x ? {_CANONICAL[self.precision]} : x; }}",
            *(_PREFETCH if self._prefetches else ()),
            "",
            f'extern "C" __global__ void __launch_bounds__({self.shape.threads}, {self.shape.blocks})',
            f"run({', '.join(self._parameters())}) {{",
            *_indented(1, self._body()),
            "}",
        ]

    @property
    def _prefetches(self) -> bool:
        return self.families > 0 and self.shape.ahead > 0

    def _parameters(self) -> list[str]:
        fixed = [
            "const real* __restrict__ rows",
            "const unsigned char* __restrict__ event",
            "const int* __restrict__ order",
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
        width = self.records.width
        lines = [
            "const int thread = blockIdx.x * blockDim.x + threadIdx.x;",
            "if (thread >= count) return;",
            "const int lane = order[thread];",
            "const size_t all = count;",
            *(f"real s{place} = states[{place} * all + lane];" for place in self.state.values()),
            *(f"const real lane{place} = lanes[{place} * all + lane];" for place in self.lanes),
            *(
                f"const real* f{place} = family{place} + (size_t)start * columns{place} + index[{place} * all + lane];"
                for place in range(self.families)
            ),
            f"const real* record = rows + (size_t)start * {width};",
        ]
        if self.program.outputs:
            lines.append("real* out = outputs + lane;")
        moves = [f"record += {width}", *(f"f{place} += columns{place}" for place in range(self.families))]
        if self.program.outputs:
            moves.append("out += all")
        return [
            *lines,
            f"#pragma unroll {self.shape.unroll}",
            f"for (int t = start; t < stop; ++t, {', '.join(moves)}) {{",
            *_indented(1, [*self._calls_ahead(), *self._bar()]),
            "}",
            *(f"states[{place} * all + lane] = canonical(s{place});" for place in self.state.values()),
        ]

    def _calls_ahead(self) -> list[str]:
        if not self._prefetches:
            return []
        ahead = self.shape.ahead
        calls = [f"prefetch(f{place} + {ahead} * (size_t)columns{place});" for place in range(self.families)]
        return [f"if (t + {ahead} < stop) {{ {' '.join(calls)} }}"]

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
        lines = self._loads(program)
        for part in schedule(program):
            if isinstance(part, Branch):
                lines += self._branch(program, part)
            else:
                lines.append(f"const {self._define(program, part)}")
        steps = "(size_t)(stop - start) * all"
        for place, output in enumerate(program.outputs):
            lines.append(f"out[{place} * {steps}] = canonical(v{output.register});" if place else
                         f"*out = canonical(v{output.register});")  # fmt: skip
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
                kind = _type(program.instructions[member])
                lines.append(f"{kind} v{member} = {'false' if kept is None else f'v{kept}'};")
        body = []
        for register in branch.body:
            outside = register in branch.members and register not in branch.local
            text = self._define(program, register)
            body.append(text.split(" ", 1)[1] if outside else f"const {text}")
        return [*lines, f"if (v{branch.condition}) {{", *_indented(1, body), "}"]

    def _define(self, program: Program, register: int) -> str:
        item = program.instructions[register]
        return f"{_type(item)} v{register} = {self._expression(item)};"

    def _expression(self, item: Instruction) -> str:
        if item.op in OPCODES:
            return OPCODES[item.op].cuda.format(*(f"v{operand}" for operand in item.operands))
        if item.op == "constant":
            return self._number(item.detail)
        if item.op == "state":
            return f"s{self.state[item.detail]}"
        if item.op == "family":
            family, lag = item.detail
            return f"__ldg(f{family}{f' - {lag} * (size_t)columns{family}' if lag else ''})"
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


def _type(item: Instruction) -> str:
    return "real" if item.type == F64 else "bool"


def _indented(levels: int, lines: Iterable[str]) -> list[str]:
    return [line if line.startswith("#") else f"{'    ' * levels}{line}" for line in lines]
