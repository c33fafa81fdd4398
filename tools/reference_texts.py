"""Sphinx's hooks for the pages of the API."""

from typing import Any


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
    """Register the hooks with Sphinx."""
    app.connect("autodoc-process-docstring", process, priority=100)
    app.connect("autodoc-skip-member", ours)
    return {"parallel_read_safe": True}
