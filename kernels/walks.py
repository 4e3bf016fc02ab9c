"""Walks over the nodes of expressions."""

from kernels.values import Value


def parameters(*values: Value) -> tuple[str, ...]:
    """Names of the parameters the expressions read, in the order of first appearance."""
    names: dict[str, None] = {}
    for value in nodes(*values):
        if value.op == "param":
            names.setdefault(value.detail)
    return tuple(names)


def nodes(*roots: Value) -> list[Value]:
    """Every node under the roots once, operands before the operations that use them."""
    ordered: list[Value] = []
    seen: set[int] = set()
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        value, expanded = stack.pop()
        if expanded:
            ordered.append(value)
        elif id(value) not in seen:
            seen.add(id(value))
            stack.append((value, True))
            stack.extend((operand, False) for operand in reversed(value.operands))
    return ordered


def open_leaves(*roots: Value) -> list[Value]:
    """Leaves under the roots that stand for a state: of ``hold()`` and of scans that are not complete yet."""
    found, seen, stack = [], set(), list(roots)
    while stack:
        node = stack.pop()
        if id(node) in seen or node.op == "scan":
            continue
        seen.add(id(node))
        if node.op in ("carried", "state"):
            found.append(node)
        stack.extend(node.operands)
    return found
