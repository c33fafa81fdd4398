"""Sphinx's hooks for the pages of the API, and a directive that lists the modules of a package."""

import ast
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

PACKAGE = Path(__file__).parents[1] / "src" / "sparsepath"


class Modules(Directive):
    """A table of the modules of one package, with the first line of each docstring."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Parse the table as Markdown, in the place of the directive."""
        room = PACKAGE / self.arguments[0]
        rows = ["| module | content |", "| --- | --- |"]
        for file in sorted(room.rglob("*.py")):
            if file.name != "__init__.py":
                text = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
                line = text.split("\n\n")[0].replace("\n", " ").replace("|", r"\|")
                rows.append(f"| `{file.relative_to(room).as_posix()}` | {line} |")
        table = nodes.container()
        self.state.nested_parse(StringList(rows, source=""), self.content_offset, table)
        return table.children


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """An absolute value, ``|x|``, would be a substitution."""
    lines[:] = [
        line if "``" in line or ">>>" in line else line.replace("|", r"\|") for line in lines
    ]


def ours(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn's base classes bring, but for what everybody calls."""
    home = getattr(obj, "__module__", None) or ""
    if home.startswith("sklearn") and name not in ("transform", "fit_transform", "get_support"):
        return True
    return None


def setup(app: Any) -> dict[str, Any]:
    """Register the hooks and the directive with Sphinx."""
    app.add_directive("modules", Modules)
    app.connect("autodoc-process-docstring", process, priority=100)
    app.connect("autodoc-skip-member", ours)
    return {"parallel_read_safe": True}
