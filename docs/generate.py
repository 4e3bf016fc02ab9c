"""Write the pages that are generated from tables in the code."""

from pathlib import Path

from kernels.features.document import features_markdown
from kernels.metrics import metrics_markdown

DOCS = Path(__file__).resolve().parent


def main() -> None:
    """Write every generated page."""
    (DOCS / "features.md").write_text(features_markdown(), encoding="utf-8")
    (DOCS / "metrics.md").write_text(metrics_markdown(), encoding="utf-8")


if __name__ == "__main__":
    main()
