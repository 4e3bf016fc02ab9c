"""Counters: the values of a program that are small whole numbers at every bar, and so may be kept as integers.

An integer takes one register of a GPU instead of two and leaves its scarce fp64 units alone; float64 holds the same
numbers exactly, so nothing changes. A state is a counter where each bar adds a small constant, sets one or keeps it,
and where nothing at most bars needs it as a float.
"""

import math
from typing import NamedTuple

from kernels.opcodes import F64
from kernels.program import Program
from kernels.sinking import Branch, schedule

LARGEST = 16
"""The most that a counter changes by in a bar: a hundred million bars do not overflow 32 bits."""

_COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})


def counting_states(program: Program, often: Program) -> frozenset[str]:
    """The states that are counters in ``program`` and cost no conversion at a bar of ``often``, its version without
    events, branches apart.
    """
    counting = frozenset(state.name for state in program.states if _whole(state.initial))
    while True:
        whole, shorter = whole_registers(program, counting), whole_registers(often, counting)
        kept = {state.name for state in program.states if state.name in counting and state.register in whole}
        kept -= _needed_as_floats(often, shorter)
        if kept == counting:
            return counting
        counting = frozenset(kept)


def whole_registers(program: Program, counting: frozenset[str]) -> frozenset[int]:
    """The registers that are whole numbers if those states are; constants, and what is no float at all, are among them
    only where they are whole.
    """
    refused: set[int] = set()
    while True:
        found = _forward(program, counting, refused)
        wrong = {
            operand
            for register, item in enumerate(program.instructions)
            for operand in item.operands
            if operand in found and not found[operand].depends and program.instructions[operand].op != "constant"
            and register not in found and not _compares(program, register, frozenset(found))
        }  # fmt: skip
        if not wrong:
            return frozenset(found)
        refused |= wrong


class _Reach(NamedTuple):
    """Whether the register depends on a state, and the largest number that it may differ by from it, or from 0."""

    depends: bool
    largest: float


def _forward(program: Program, counting: frozenset[str], refused: set[int]) -> dict[int, _Reach]:
    """Whole registers: two that depend on a state are never added, nor more to one in a bar than ``LARGEST``: the sum could
    grow too fast.
    """
    found: dict[int, _Reach] = {}
    for register, item in enumerate(program.instructions):
        if register in refused or item.type != F64:
            continue
        if item.op == "constant" and _whole(item.detail):
            found[register] = _Reach(False, abs(item.detail))
        elif item.op == "state" and item.detail in counting:
            found[register] = _Reach(True, 0.0)
        elif item.op in ("add", "sub") and all(operand in found for operand in item.operands):
            a, b = (found[operand] for operand in item.operands)
            if not (a.depends and b.depends) and a.largest + b.largest <= LARGEST:
                found[register] = _Reach(a.depends or b.depends, a.largest + b.largest)
        elif item.op == "select" and all(operand in found for operand in item.operands[1:]):
            a, b = (found[operand] for operand in item.operands[1:])
            found[register] = _Reach(a.depends or b.depends, max(a.largest, b.largest))
    return found


def _needed_as_floats(program: Program, whole: frozenset[int]) -> set[str]:
    """The states that an instruction outside of branches needs as floats."""
    branches = (part for part in schedule(program) if isinstance(part, Branch))
    rare = {register for branch in branches for register in branch.body}
    needed = {output.register for output in program.outputs}
    needed |= {state.register for state in program.states if state.register not in whole}
    for register, item in enumerate(program.instructions):
        if register not in rare and register not in whole and not _compares(program, register, whole):
            needed.update(operand for operand in item.operands if operand in whole)
    found: set[str] = set()
    for register in sorted(needed & whole, reverse=True):
        found |= _states_behind(program, register, whole)
    return found


def _states_behind(program: Program, register: int, whole: frozenset[int]) -> set[str]:
    found, stack, seen = set(), [register], set()
    while stack:
        place = stack.pop()
        item = program.instructions[place]
        if place in seen or place not in whole:
            continue
        seen.add(place)
        if item.op == "state":
            found.add(item.detail)
        stack.extend(item.operands)
    return found


def _compares(program: Program, register: int, whole: frozenset[int]) -> bool:
    item = program.instructions[register]
    return item.op in _COMPARISONS and whole.issuperset(item.operands)


def _whole(number: float) -> bool:
    """Whether a constant is a small whole number; -0 is none, an integer has no such zero."""
    return abs(number) <= LARGEST and number == int(number) and math.copysign(1.0, number) == (-1.0 if number < 0 else 1.0)
