"""Packages of a user's, each under a name of its own, whose nodes are keyed as a new process would."""

import importlib
import itertools
import py_compile
import sys
from pathlib import Path

from pipelines.graphs.graph import Graph, build_graph
from pipelines.keying.code_reading import CodeReader
from pipelines.keying.keys import code_of

NUMBER = itertools.count()


class Shop:
    """A package of the user's; SHOP in its files stands for its name, and `../name` for a file beside the package."""

    def __init__(self, folder: Path) -> None:
        self.name = f"shop{next(NUMBER)}"
        self.root = folder / self.name

    def write(self, files: dict[str, str]) -> None:
        """Write files: bytecode of the source that is given for a .pyc, as latin-1 what says so, else as UTF-8."""
        for name, text in {"__init__.py": "", **files}.items():
            path = self.root / name.replace("SHOP", self.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            text = text.replace("SHOP", self.name)
            if name.endswith(".pyc"):
                source = path.with_name("as_source.txt")
                source.write_text(text, encoding="utf-8")
                py_compile.compile(str(source), str(path), doraise=True)
                source.unlink()
            else:
                path.write_text(text, encoding="latin-1" if "coding: latin-1" in text else "utf-8")

    def loaded(self, module: str):
        """A module of the package, read again from its files with all others."""
        for name in [name for name in sys.modules if name.partition(".")[0].startswith(self.name)]:
            del sys.modules[name]
        importlib.invalidate_caches()
        return importlib.import_module(f"{self.name}.{module}")

    def code(self) -> dict[str, str]:
        """The code of `work` in its module `nodes`."""
        return code_of([self.loaded("nodes").work], reader=CodeReader(self.root.parent / "cache"))

    def graph(self) -> Graph:
        """The graph of the table FLOW in its module `flow`, or of what a function FLOW there returns."""
        flow = self.loaded("flow").FLOW
        flow = flow() if callable(flow) else flow
        return build_graph(flow.nodes, None, {}, {}, [f"{self.name}.flow:FLOW"])
