"""A program printed as Python for numba: pure text, no compilation.

Lanes run in blocks of fixed size inside the loop over bars, so that the inner loop vectorises. All states and lane
values of a block lie in one flat array at constant offsets: with separate arrays LLVM cannot prove that they do not
overlap and gives up on vectors beyond about ten states. What lanes read of a family is gathered into the same array by
a loop of its own first, for the same reason: one gather in the body, and none of it becomes vectors. Bars without events
run a shorter body (``kernels.specialise``).
"""

import math
from collections.abc import Iterable

from kernels.numba_bits import FUNCTIONS
from kernels.opcodes import BOOL, OPCODES
from kernels.program import Instruction, Program
from kernels.specialise import quiet

SIGNATURE = "rows, event, start, stop, first_block, last_block, index, lanes, states, outputs"


def numba_text(program: Program, block: int) -> str:
    """Source of a module with ``run`` (compiled on import of ``run``'s first call) for blocks of ``block`` lanes.

    ``run`` takes the arrays of ``kernels.executor.Inputs`` with lanes padded to whole blocks, works on blocks
    [first_block, last_block) and bars [start, stop), and updates ``states`` [states, lanes] in place.
    """
    layout = _Layout(program, block)
    called = {item.op for item in program.instructions}
    families = "".join(f", family{place}" for place in range(layout.families))
    lines = [
        '"""A walkfold program; written by kernels.numba_text, named by its digest."""',
        "",
        "import numpy as np",
        "from numba import njit",
        "",
        *(line for name, function in FUNCTIONS.items() if name in called for line in function.splitlines()),
        "",
        '@njit(nogil=True, cache=True, error_model="numpy")',
        f"def run({SIGNATURE}{families}):",
        f"    s = np.empty({max(layout.slots + len(layout.gathered), 1) * block})",
        f"    place = np.empty({max(layout.families, 1) * block}, np.uint64)",
        "    for b in range(first_block, last_block):",
        f"        base = b * {block}",
        *_indented(2, layout.load()),
        "        for t in range(start, stop):",
        *_indented(3, _bar(program, layout)),
        *_indented(2, layout.store()),
    ]
    return "\n".join(lines) + "\n"


class _Layout:
    """Where a block's states and lane values lie: slot k of lane l at ``s[k * block + l]``."""

    def __init__(self, program: Program, block: int) -> None:
        self.block = block
        self.state_slot = {state.name: place for place, state in enumerate(program.states)}
        used = sorted({item.detail for item in program.instructions if item.op == "lane"})
        self.lane_slot = {lane: len(self.state_slot) + place for place, lane in enumerate(used)}
        self.slots = len(self.state_slot) + len(used)
        reads = dict.fromkeys(item.detail for item in program.instructions if item.op == "family")
        self.gathered = {read: self.slots + place for place, read in enumerate(reads)}
        self.families = 1 + max((item.detail[0] for item in program.instructions if item.op == "family"), default=-1)

    def at(self, slot: int) -> str:
        return f"s[{slot * self.block} + l]"

    def load(self) -> list[str]:
        body = [f"{self.at(slot)} = states[{slot}, base + l]" for slot in self.state_slot.values()]
        body += [f"{self.at(slot)} = lanes[{lane}, base + l]" for lane, slot in self.lane_slot.items()]
        body += [f"place[{f * self.block} + l] = np.uint64(index[{f}, base + l])" for f in range(self.families)]
        return [f"for l in range({self.block}):", *_indented(1, body or ["pass"])]

    def store(self) -> list[str]:
        body = [f"states[{slot}, base + l] = {self.at(slot)}" for slot in self.state_slot.values()]
        return [f"for l in range({self.block}):", *_indented(1, body or ["pass"])]


def _bar(program: Program, layout: _Layout) -> list[str]:
    if not program.events:
        return _lane_loop(program, layout)
    return [
        "if event[t]:",
        *_indented(1, _lane_loop(program, layout)),
        "else:",
        *_indented(1, _lane_loop(quiet(program), layout)),
    ]


def _lane_loop(program: Program, layout: _Layout) -> list[str]:
    shared, gather, body = [], [], []
    for register, item in enumerate(program.instructions):
        if item.op == "row":
            shared.append(f"v{register} = rows[t, {item.detail}]" + (" != 0.0" if item.type == BOOL else ""))
        elif item.op == "family":
            family, lag = item.detail
            shared.append(f"f{register} = family{family}[t{f' - {lag}' if lag else ''}]")
            slot = layout.at(layout.gathered[item.detail])
            gather.append(f"{slot} = f{register}[place[{family * layout.block} + l]]")
            body.append(f"v{register} = {slot}")
        else:
            body.append(f"v{register} = {_expression(item, layout)}")
    for place, output in enumerate(program.outputs):
        body.append(f"outputs[{place}, t - start, base + l] = v{output.register}")
    for state in program.states:
        item = program.instructions[state.register]
        if not (item.op == "state" and item.detail == state.name):
            body.append(f"{layout.at(layout.state_slot[state.name])} = v{state.register}")
    loop = f"for l in range({layout.block}):"
    first = [loop, *_indented(1, gather)] if gather else []
    return [*shared, *first, loop, *_indented(1, body or ["pass"])]


def _expression(item: Instruction, layout: _Layout) -> str:
    if item.op in OPCODES:
        return OPCODES[item.op].numba.format(*(f"v{operand}" for operand in item.operands))
    if item.op == "constant":
        return _number(item.detail)
    if item.op == "state":
        return layout.at(layout.state_slot[item.detail])
    return layout.at(layout.lane_slot[item.detail]) + (" != 0.0" if item.type == BOOL else "")


def _number(content: float | bool) -> str:
    if isinstance(content, bool) or math.isfinite(content):
        return repr(content)
    return "np.nan" if math.isnan(content) else f"{'-' if content < 0 else ''}np.inf"


def _indented(levels: int, lines: Iterable[str]) -> list[str]:
    return [f"{'    ' * levels}{line}" for line in lines]
