"""A program specialised for bars without events: shorter, with the same values on those bars."""

from kernels.opcodes import BOOL
from kernels.program import Instruction, Output, Program, State

_DECIDES = {("and", False): False, ("or", True): True}
"""An operand that decides a logic operation whatever the other one is; any other known operand leaves the other one."""


def quiet(program: Program) -> Program:
    """The program with every event row false: conditions folded, unused instructions gone, states unchanged."""
    folded = _Folded()
    for item in program.instructions:
        if item.op == "row" and item.detail in program.events:
            item = Instruction("constant", (), BOOL, False)
        folded.add(item)
    needed = [folded.place[s.register] for s in program.states] + [folded.place[o.register] for o in program.outputs]
    kept = _live(folded.instructions, needed)
    moved = {old: new for new, old in enumerate(kept)}
    instructions = tuple(
        Instruction(item.op, tuple(moved[operand] for operand in item.operands), item.type, item.detail)
        for item in (folded.instructions[old] for old in kept)
    )
    places = [moved[register] for register in needed]
    states = tuple(State(s.name, s.initial, r) for s, r in zip(program.states, places, strict=False))
    outputs = tuple(Output(o.name, r) for o, r in zip(program.outputs, places[len(states) :], strict=True))
    return Program(instructions, states, outputs, settings=program.settings).check()


class _Folded:
    """Instructions after folding; ``place`` maps an old register to the new one that has its value."""

    def __init__(self) -> None:
        self.instructions: list[Instruction] = []
        self.place: list[int] = []
        self._known: dict[Instruction, int] = {}

    def add(self, item: Instruction) -> None:
        operands = tuple(self.place[operand] for operand in item.operands)
        same = self._same_as(item.op, operands)
        if same is None:
            same = self._emit(Instruction(item.op, operands, item.type, item.detail))
        self.place.append(same)

    def _same_as(self, op: str, operands: tuple[int, ...]) -> int | None:
        truths = [self._truth(operand) for operand in operands]
        if op == "select" and truths[0] is not None:
            return operands[1] if truths[0] else operands[2]
        if op == "not" and truths[0] is not None:
            return self._emit(Instruction("constant", (), BOOL, not truths[0]))
        if op in ("and", "or"):
            for truth, other in zip(truths, reversed(operands), strict=True):
                if truth is not None:
                    decided = _DECIDES.get((op, truth))
                    return other if decided is None else self._emit(Instruction("constant", (), BOOL, decided))
        return None

    def _truth(self, register: int) -> bool | None:
        item = self.instructions[register]
        return bool(item.detail) if item.op == "constant" and item.type == BOOL else None

    def _emit(self, item: Instruction) -> int:
        # -0.0 == 0.0 and NaN != NaN: constants are told apart by their text
        key = item if item.op != "constant" else Instruction("constant", (), item.type, repr(item.detail))
        if key not in self._known:
            self._known[key] = len(self.instructions)
            self.instructions.append(item)
        return self._known[key]


def _live(instructions: list[Instruction], roots: list[int]) -> list[int]:
    live: set[int] = set()
    stack = list(roots)
    while stack:
        register = stack.pop()
        if register not in live:
            live.add(register)
            stack.extend(instructions[register].operands)
    return sorted(live)
