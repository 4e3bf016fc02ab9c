"""docs/features.md is what the table says."""

from pathlib import Path

from kernels.features.document import features_markdown
from kernels.features.market import FAMILIES
from kernels.features.table import FEATURES

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "features.md"


def test_committed_document_is_current():
    assert DOCUMENT.read_text(encoding="utf-8") == features_markdown(), "run python -m kernels.features.document"


def test_every_family_in_the_table_is_computed():
    assert {feature.family for feature in FEATURES} == set(FAMILIES)
    assert len({feature.name for feature in FEATURES}) == len(FEATURES)
