"""Why CUDA cannot run here: stable reasons, looked up once and never guessed."""

from dataclasses import dataclass
from enum import StrEnum


class FallbackReason(StrEnum):
    """Stable strings of ``profile["fallback_reason"]``."""

    NO_CUPY = "cupy_missing"
    """The package cupy is not installed: the extra [gpu] brings it."""
    NO_DEVICE = "no_cuda_device"
    """No NVIDIA GPU is visible, or its driver is missing."""
    OLD_DRIVER = "driver_too_old"
    """The driver is older than the CUDA libraries."""
    NO_COMPILER = "nvrtc_missing"
    """CUDA's run-time compiler cannot be loaded: the extra [gpu] brings it."""


@dataclass(frozen=True)
class Refusal:
    """A reason with the sentence that explains it and names the remedy."""

    reason: FallbackReason
    message: str


class CudaUnavailableError(RuntimeError):
    """``executor="cuda"`` was asked for and cannot run; ``reason`` is a ``FallbackReason``."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(
            f"executor='cuda' cannot run here ({refusal.reason}): {refusal.message}; "
            "or use executor='auto', or allow_fallback=True to run on the CPU with a warning"
        )
        self.reason = refusal.reason

    def __reduce__(self) -> tuple[type["CudaUnavailableError"], tuple[Refusal]]:
        return type(self), (Refusal(self.reason, str(self)),)


def cuda_refusal() -> Refusal | None:
    """What keeps CUDA programs from running in this process, or None."""
    try:
        import cupy
        from cupy.cuda import nvrtc
    except ImportError as error:
        return Refusal(FallbackReason.NO_CUPY, f"{error}; install the extra: pip install 'walkfold[gpu]'")
    try:
        if cupy.cuda.runtime.getDeviceCount() < 1:
            return Refusal(FallbackReason.NO_DEVICE, "no NVIDIA GPU is visible; see `pipeline doctor`")
    except cupy.cuda.runtime.CUDARuntimeError as error:
        old = "insufficient" in str(error).lower() and _has_driver(cupy)
        reason = FallbackReason.OLD_DRIVER if old else FallbackReason.NO_DEVICE
        remedy = "update the NVIDIA driver" if old else "no NVIDIA GPU or driver is visible; see `pipeline doctor`"
        return Refusal(reason, f"{error}: {remedy}")
    try:
        nvrtc.getVersion()
    except (RuntimeError, OSError, ImportError) as error:
        return Refusal(FallbackReason.NO_COMPILER, f"{error}; install the extra: pip install 'walkfold[gpu]'")
    return None


def _has_driver(cupy: object) -> bool:
    try:
        return bool(cupy.cuda.runtime.driverGetVersion() > 0)  # type: ignore[attr-defined]
    except Exception:  # whatever the call raises, no driver answered
        return False
