"""What a node may learn of the machine it runs on, and say of how it ran there; neither can change its artefact.

A node whose function has a parameter `machine` gets one. It is no input: it is not in the content key. What the node
notes goes to the record of the run, and the facts named in KEPT also to the manifest beside the artefact, so that a
later run that finds the artefact cached still knows them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from kernels.calibration import Calibration

PARAMETER = "machine"
KEPT = ("executor", "fallback_reason")


def no_calibration(threads: int) -> Calibration | None:
    """Nothing is known of the machine's speed."""
    return None


@dataclass(frozen=True)
class Machine:
    """`calibration(threads)`: the machine's speeds where it was measured; `facts`: what nodes noted.

    `gpu`: whether the node runs on a worker that holds a GPU; None where no worker was chosen for it (cluster=serial).
    """

    calibration: Callable[[int], Calibration | None] = no_calibration
    facts: dict[str, Any] = field(default_factory=dict)
    gpu: bool | None = None

    def note(self, **facts: Any) -> None:
        """Keep facts about how the node ran: JSON values."""
        self.facts.update(facts)


class HasFacts(Protocol):
    """An outcome of a task."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """What its node noted."""


def kept(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts that stand in a manifest: no timings, so that it is the same however fast the machine was."""
    return {name: facts[name] for name in KEPT if name in facts}


def facts_of(manifest: Mapping[str, Any] | None) -> dict[str, Any]:
    """The facts that the writer of an artefact kept; none for a node that notes nothing."""
    return dict((manifest or {}).get("facts", {}))


def remarks(outcomes: Iterable[HasFacts]) -> list[str]:
    """What a person is told once of all sweeps: that some fell back to the CPU, that some were too small for the GPU."""
    facts = [outcome.facts for outcome in outcomes]
    reasons = sorted({str(row["fallback_reason"]) for row in facts if row.get("fallback_reason")})
    found = [f"sweeps fell back to the CPU: {', '.join(reasons)}"] if reasons else []
    small = [row for row in facts if row.get("executor") == "cuda" and row.get("break_even_combinations")]
    if small:
        least = max(int(row["break_even_combinations"]) for row in small)
        found.append(
            f"{len(small)} chunks of sweeps were small for the GPU: below about {least:,} combinations the CPU is estimated "
            "faster; raise sweep.chunk_combinations"
        )
    return found


def executor_of(outcomes: Iterable[HasFacts], asked: str) -> dict[str, str | None]:
    """The executors that computed the sweeps and the reasons why some fell back: sorted, joined by ", ".

    `executor` is what was asked for where no sweep is among the outcomes; `fallback_reason` is None where none fell back.
    """
    facts = [outcome.facts for outcome in outcomes if "executor" in outcome.facts]
    executors = sorted({str(row["executor"]) for row in facts})
    reasons = sorted({str(row["fallback_reason"]) for row in facts if row.get("fallback_reason")})
    return {"executor": ", ".join(executors) or asked, "fallback_reason": ", ".join(reasons) or None}
