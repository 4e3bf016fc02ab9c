"""The ``numpy`` executor: bar by bar, op by op, over all lanes at once. It is the definition: slow and obvious."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.canonical_nan import canonical
from kernels.executor import Inputs, Run
from kernels.opcodes import BOOL, OPCODES
from kernels.program import Instruction, Program


def run(program: Program, inputs: Inputs, start: int, stop: int, states: NDArray[np.float64]) -> Run:
    """Runs bars [start, stop) from ``states`` [states, lanes], which is not changed."""
    lanes = states.shape[1]
    current = {state.name: states[place].copy() for place, state in enumerate(program.states)}
    outputs = np.empty((len(program.outputs), stop - start, lanes))
    with np.errstate(all="ignore"):
        for bar in range(start, stop):
            registers: list[Any] = []
            for instruction in program.instructions:
                registers.append(_value(instruction, registers, inputs, bar, current))
            for place, output in enumerate(program.outputs):
                outputs[place, bar - start] = registers[output.register]
            for state in program.states:
                current[state.name] = np.broadcast_to(registers[state.register], (lanes,))
    final = np.stack([current[state.name] for state in program.states]) if program.states else np.empty((0, lanes))
    return Run(canonical(final), canonical(outputs))


def _value(item: Instruction, registers: list[Any], inputs: Inputs, bar: int, states: dict[str, Any]) -> Any:
    if item.op in OPCODES:
        return OPCODES[item.op].numpy(*(registers[operand] for operand in item.operands))
    if item.op == "constant":
        return np.asarray(item.detail)[()]
    if item.op == "state":
        return states[item.detail]
    if item.op == "family":
        family, lag = item.detail
        return inputs.families[family][bar - lag, inputs.index[family]]
    found = inputs.rows[bar, item.detail] if item.op == "row" else inputs.lanes[item.detail]
    return found != 0.0 if item.type == BOOL else found
