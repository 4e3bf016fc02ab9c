"""Sinking: instructions that matter under one condition alone move into a branch on it.

A ``select`` ignores the operand it does not choose, an ``and`` needs its second operand only where the first holds. So
what nothing else reads can be left out where the condition is false. All uses of one condition share a branch: the
selects and conjunctions on it are its *members*, the instructions that only they read its *cone*. Values do not
change; a cone cheaper than a branch stays where it is.
"""

import heapq
from dataclasses import dataclass
from typing import TypeAlias

from kernels.opcodes import OPCODES
from kernels.program import Program

LEAST_SLOTS = 6
"""A branch costs about as much as this many arithmetic instructions of a GPU; a division alone is worth one."""


@dataclass(frozen=True)
class Branch:
    """``if (condition) body``: ``body`` are cone and members in order; ``local`` members are read inside alone."""

    condition: int
    body: tuple[int, ...]
    members: tuple[int, ...]
    local: frozenset[int]


Schedule: TypeAlias = list[int | Branch]
"""Registers and branches in an order in which operands come before their use."""


def schedule(program: Program) -> Schedule:
    """The program's instructions in order, with what can be sunk in branches."""
    users = _users(program)
    groups: list[Branch] = []
    taken: set[int] = set()
    for condition in _conditions(program):
        if condition in taken:
            continue
        members: list[int] = []
        for register in _dependants(program, condition, taken):
            if _ordered(program, [*groups, _branch(program, users, taken, condition, [*members, register])]) is not None:
                members.append(register)
        branch = _branch(program, users, taken, condition, members)
        cone = set(branch.body) - set(branch.members)
        if sum(OPCODES[program.instructions[register].op].slots for register in cone) >= LEAST_SLOTS:
            groups.append(branch)
            taken.update(branch.body)
    ordered = _ordered(program, groups)
    assert ordered is not None, "groups were accepted only where an order exists"
    return ordered


def otherwise(program: Program, member: int) -> int | None:
    """What a member is where its branch's condition is false: a register, or None for false."""
    item = program.instructions[member]
    return item.operands[2] if item.op == "select" else None


def _users(program: Program) -> list[list[tuple[int, int]]]:
    """(user, operand position) of each register; states and outputs are user -1."""
    users: list[list[tuple[int, int]]] = [[] for _ in program.instructions]
    for register, item in enumerate(program.instructions):
        for position, operand in enumerate(item.operands):
            users[operand].append((register, position))
    for register in (*(state.register for state in program.states), *(output.register for output in program.outputs)):
        users[register].append((-1, 0))
    return users


def _conditions(program: Program) -> list[int]:
    """What selects and conjunctions test, in order: the one computed first covers those that narrow it."""
    tested: set[int] = set()
    for item in program.instructions:
        tested.update(item.operands[:1] if item.op == "select" else item.operands if item.op == "and" else ())
    return sorted(tested)


def _dependants(program: Program, condition: int, taken: set[int]) -> list[int]:
    """Selects and conjunctions that keep their other value where the condition is false."""
    implying, found = {condition}, []
    for register, item in enumerate(program.instructions):
        if register in taken:
            continue
        if item.op == "and" and implying & set(item.operands):
            implying.add(register)
            found.append(register)
        elif item.op == "select" and item.operands[0] in implying:
            found.append(register)
    return found


def _branch(
    program: Program, users: list[list[tuple[int, int]]], taken: set[int], condition: int, members: list[int]
) -> Branch:
    """The branch of these members; a register that an earlier branch has ``taken`` stays in that one alone."""
    chosen, inside = set(members), set(members)
    for register in range(len(program.instructions) - 1, -1, -1):
        item = program.instructions[register]
        if register == condition or register in chosen or register in taken:
            continue
        if item.op not in OPCODES or not users[register]:
            continue
        if all(_inside(program, user, position, inside, chosen) for user, position in users[register]):
            inside.add(register)
    local = {member for member in members if all(user in inside for user, _ in users[member])}
    for member in members:  # what another member becomes where the condition is false is read outside
        local.discard(otherwise(program, member) or -1)
    return Branch(condition, tuple(sorted(inside)), tuple(members), frozenset(local))


def _inside(program: Program, user: int, position: int, inside: set[int], chosen: set[int]) -> bool:
    if user not in inside:
        return False
    return user not in chosen or program.instructions[user].op == "and" or position != 2


def _ordered(program: Program, branches: list[Branch]) -> Schedule | None:
    """Instructions and branches with operands before their use; None where two of them need each other."""
    home = list(range(len(program.instructions)))
    for branch in branches:
        for register in branch.body:
            home[register] = branch.body[-1]
    needs: dict[int, set[int]] = {}
    for register, item in enumerate(program.instructions):
        needs.setdefault(home[register], set()).update(home[operand] for operand in item.operands)
    for branch in branches:
        needs[branch.body[-1]].add(home[branch.condition])
        needs[branch.body[-1]].discard(branch.body[-1])
    by_home = {branch.body[-1]: branch for branch in branches}
    readers: dict[int, list[int]] = {place: [] for place in needs}
    for place, needed in needs.items():
        for other in needed:
            readers[other].append(place)
    missing = {place: len(needed) for place, needed in needs.items()}
    ready = [place for place, count in missing.items() if count == 0]
    heapq.heapify(ready)
    result: Schedule = []
    while ready:
        place = heapq.heappop(ready)
        result.append(by_home.get(place, place))
        for reader in readers[place]:
            missing[reader] -= 1
            if missing[reader] == 0:
                heapq.heappush(ready, reader)
    return result if len(result) == len(needs) else None
