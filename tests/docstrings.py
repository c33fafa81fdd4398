"""What a docstring in the manner of NumPy explains."""

import inspect
import re


def documented(doc, title):
    """The names that a section of a docstring explains."""
    lines = inspect.cleandoc(doc or "").splitlines()
    starts = [
        i for i, line in enumerate(lines[:-1]) if line == title and set(lines[i + 1]) == {"-"}
    ]
    names = []
    for start in starts:
        for i in range(start + 2, len(lines)):
            if i + 1 < len(lines) and lines[i] and set(lines[i + 1]) == {"-"}:
                break
            if lines[i] and not lines[i].startswith(" "):
                head = re.split(r"\s:\s", lines[i])[0]
                names += [name.strip().lstrip("*") for name in head.split(",")]
    return names
