"""docs/architecture.md names every file of the packages, by its name, by a pattern, or by the folder it lies in."""

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGES = ("loaders", "validation", "kernels", "training", "pipelines")


def named() -> set[str]:
    """Names with their folders; a name without one lies where the one before it on the line does."""
    found: set[str] = set()
    for line in (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8").splitlines():
        folder = ""
        for name in re.findall(r"`([\w/*]+(?:\.py|/))`", line):
            if name.rstrip("/") in PACKAGES:
                continue  # a whole package names no file
            if name.startswith(PACKAGES):
                folder = name.rpartition("/")[0]
                found.add(name)
            else:
                found.update({f"{folder}/{name}", f"{folder.partition('/')[0]}/{name}"})
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_every_file_has_its_line(package):
    names = named()
    files = [str(path.relative_to(REPOSITORY)) for path in (REPOSITORY / package).rglob("*.py") if path.name != "__init__.py"]
    assert len(files) > 10
    missing = [
        file for file in files
        if not any(fnmatch(file, name) or (name.endswith("/") and file.startswith(name)) for name in names)
    ]  # fmt: skip
    assert sorted(missing) == []


def test_no_file_is_named_that_is_not_there():
    gone = []
    for line in (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8").splitlines():
        for name in re.findall(rf"`((?:{'|'.join(PACKAGES)})/[\w/*]+\.py)", line):
            if not list(REPOSITORY.glob(name)):
                gone.append(name)
    assert gone == []
