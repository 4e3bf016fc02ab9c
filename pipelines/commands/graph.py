"""`pipeline graph [fold=N]`: the flow as text, each node below what it reads, with what is cached; `--svg FILE` draws it."""

import json
import sys
from collections.abc import Iterable
from typing import Any

from pipelines.commands import plan as plan_command
from pipelines.commands.options import Options
from pipelines.config.configuration import load_settings
from pipelines.errors import ConfigurationError, ExitCode, RejectedDataError, UsageError
from pipelines.flow import named_flow
from pipelines.graphs.node import Node
from pipelines.graphs.node_checks import check_nodes
from pipelines.report.writing import write_html
from pipelines.viewing.graph_state import NodeState, node_states
from pipelines.viewing.graph_svg import graph_svg


def execute(options: Options) -> int:
    """Print the nodes with inputs, fan-out and cache state; computes nothing. Without data they have no state."""
    _, overrides = options.split(*plan_command.ARGUMENTS)
    nodes = named_flow(load_settings(overrides, options.config).flow).nodes
    check_nodes(nodes)
    planned, why_not = _planned(options)
    states = node_states(nodes, None if planned is None else planned.rows, () if planned is None else planned.of_a_fold)
    if options.svg is not None:
        try:
            write_html(options.svg, graph_svg(states, _title(options, planned)))
        except OSError as error:
            raise UsageError(f"--svg {options.svg}: cannot be written: {error.strerror}; name a file in a folder") from None
    if options.json:
        rows = [_row(node, state) for node, state in zip(nodes, states, strict=True)]
        sys.stdout.write(json.dumps({"nodes": rows, "no_state_because": why_not}) + "\n")
    elif options.svg is not None:
        sys.stdout.write(f"{options.svg}\n")
    else:
        sys.stdout.write("".join(_drawn(node, state) for node, state in zip(nodes, states, strict=True)))
        sys.stdout.write(_summary(states, planned) if planned is not None else f"without cache state: {why_not}\n")
    return ExitCode.DONE


def _planned(options: Options) -> tuple[plan_command.Planned | None, str | None]:
    """The plan; or None and why there is none, where the command asked for nothing in particular."""
    try:
        return plan_command.planned(options), None
    except ConfigurationError:
        raise
    except (UsageError, RejectedDataError) as error:
        if options.words:
            raise
        return None, str(error)


def _title(options: Options, planned: plan_command.Planned | None) -> str:
    return " ".join(["pipeline graph", *options.words[:1]]) if planned is not None else "pipeline graph, without cache state"


def _row(node: Node, state: NodeState) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": node.name,
        "function": state.function,
        "inputs": dict(node.inputs),
        "files": dict(node.files),
        "settings": dict(node.settings),
        "per": list(node.per),
        "evaluates": node.evaluates,
    }
    if state.known:
        found |= {"state": state.state, "tasks": state.tasks, "cached": state.cached, "reasons": dict(state.reasons)}
    return found


def _drawn(node: Node, state: NodeState) -> str:
    per = f" × {' × '.join(node.per)}" if node.per else ""
    tasks = f" ({state.tasks})" if node.per and state.known else ""
    looks = f"  [looks at {node.evaluates} rows]" if node.evaluates else ""
    sources = [*(f"files:{group}" for group in node.files.values()), *node.inputs.values()]
    arrows = "".join(f"  ├─ {source}\n" for source in dict.fromkeys(sources))
    words = f"  {state.words}" if state.words else ""
    return f"{arrows}{node.name}{per}{tasks}   {state.function}{looks}{words}\n\n"


def _summary(states: Iterable[NodeState], planned: plan_command.Planned) -> str:
    tasks, cached = sum(one.tasks for one in states), sum(one.cached for one in states)
    later = f"; {plan_command.LATER}" if planned.of_a_fold else ""
    return f"{cached} of {tasks} tasks are cached; pipeline plan says why each of the others runs{later}\n"
