"""`pipeline graph`: the flow as text, each node below what it reads."""

import json
import sys

from pipelines.commands.options import Options
from pipelines.errors import ExitCode, UsageError
from pipelines.node import Node
from pipelines.node_checks import check_nodes
from pipelines.nodes import NODES


def execute(options: Options) -> int:
    """Print the table of nodes with their inputs, fan-out and artefact types; computes nothing."""
    if options.words:
        raise UsageError(f"pipeline graph takes no arguments, given {options.words[0]!r}")
    check_nodes(NODES)
    if options.json:
        sys.stdout.write(json.dumps({"nodes": [_row(node) for node in NODES]}) + "\n")
    else:
        sys.stdout.write("".join(_drawn(node) for node in NODES))
    return ExitCode.DONE


def _row(node: Node) -> dict[str, object]:
    function = f"{node.function.__module__}.{node.function.__qualname__}"
    return {
        "name": node.name,
        "function": function,
        "inputs": dict(node.inputs),
        "files": dict(node.files),
        "settings": dict(node.settings),
        "per": list(node.per),
        "evaluates": node.evaluates,
    }


def _drawn(node: Node) -> str:
    per = f" × {' × '.join(node.per)}" if node.per else ""
    looks = f"  [looks at {node.evaluates} rows]" if node.evaluates else ""
    sources = [*(f"files:{group}" for group in node.files.values()), *node.inputs.values()]
    arrows = "".join(f"  ├─ {source}\n" for source in dict.fromkeys(sources))
    return f"{arrows}{node.name}{per}   {node.function.__module__}.{node.function.__qualname__}{looks}\n\n"
