"""A program: straight-line, typed, single-assignment code that every lane runs once a bar, with states carried along.

    program     = instruction*  state*  output* instruction = %k: type = constant c | row r | family f lag n | lane p
    | state name | opcode %i … state       = name, initial value, the register that holds its next value output      =
    name, the register recorded at every bar

A *row* is one number a bar for all lanes; a *family* a number a bar for each distinct assignment of some parameters,
looked up by lane; a *lane* value one number a lane for all bars. There are no branches and no access to later bars.
"""

from dataclasses import dataclass
from typing import Any

from kernels.opcodes import BOOL, F64, OPCODES

SOURCES = ("constant", "row", "family", "lane", "state")


class ProgramError(ValueError):
    """A program that breaks the grammar: an error in this package, not in a strategy."""


@dataclass(frozen=True)
class Instruction:
    """One register: an opcode over earlier registers, or a source with its place in ``detail``."""

    op: str
    operands: tuple[int, ...]
    type: str
    detail: Any = None


@dataclass(frozen=True)
class State:
    """A float64 carried from bar to bar: it starts as ``initial`` and becomes the value of ``register`` at a bar's
    end.
    """

    name: str
    initial: float
    register: int


@dataclass(frozen=True)
class Output:
    """A register that is recorded at every bar."""

    name: str
    register: int


@dataclass(frozen=True)
class Program:
    """Instructions with their states and outputs.

    ``events`` are the boolean rows that are rarely true (a session's end, a roll, a mask). Executors may run a
    version of the program specialised for bars without events; the values do not depend on it.

    ``settings`` are the rows that hold one number at all bars (the capital, costs): executors may read them once.
    """

    instructions: tuple[Instruction, ...]
    states: tuple[State, ...]
    outputs: tuple[Output, ...] = ()
    events: tuple[int, ...] = ()
    settings: tuple[int, ...] = ()

    def check(self) -> "Program":
        """Itself, if operands come before use with the right types and states are unique; raises ``ProgramError``."""
        names = [state.name for state in self.states]
        if len(set(names)) != len(names):
            raise ProgramError(f"a state is defined twice: {names}")
        for place, instruction in enumerate(self.instructions):
            _check_instruction(self, place, instruction, names)
        written: tuple[State | Output, ...] = (*self.states, *self.outputs)
        for item in written:
            if not 0 <= item.register < len(self.instructions):
                raise ProgramError(f"{item.name}: register %{item.register} does not exist")
            if self.instructions[item.register].type != F64:
                raise ProgramError(f"{item.name}: register %{item.register} is a bool; states and outputs are f64")
        return self

    def __str__(self) -> str:
        lines = [f"%{place}: {_text(item)}" for place, item in enumerate(self.instructions)]
        lines += [f"state {item.name} = {item.initial!r} → %{item.register}" for item in self.states]
        lines += [f"output {item.name} = %{item.register}" for item in self.outputs]
        return "\n".join(lines)


def _text(item: Instruction) -> str:
    if item.op in OPCODES:
        return f"{item.type} = {item.op} " + " ".join(f"%{operand}" for operand in item.operands)
    if item.op == "family":
        return f"{item.type} = family {item.detail[0]}" + (f" lag {item.detail[1]}" if item.detail[1] else "")
    return f"{item.type} = {item.op} {item.detail}"


def _check_instruction(program: Program, place: int, item: Instruction, states: list[str]) -> None:
    where = f"%{place}: {_text(item)}"
    if item.op in SOURCES:
        if item.operands or item.type not in (F64, BOOL):
            raise ProgramError(f"{where}: a source takes no operands")
        if item.op == "state" and item.detail not in states:
            raise ProgramError(f"{where}: no such state; states: {states}")
        return
    if item.op not in OPCODES:
        raise ProgramError(f"{where}: unknown opcode")
    row = OPCODES[item.op]
    if any(not 0 <= operand < place for operand in item.operands):
        raise ProgramError(f"{where}: an operand is not defined before its use")
    types = tuple(program.instructions[operand].type for operand in item.operands)
    if types != row.operands or item.type != row.result:
        raise ProgramError(f"{where}: types {types} → {item.type}, but {item.op} takes {row.operands} → {row.result}")
