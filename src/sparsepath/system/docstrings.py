"""Read the sections of a numpydoc docstring."""

import inspect
import re
from collections.abc import Iterator


def sections(doc: str) -> Iterator[tuple[str, list[str]]]:
    """Yield title and lines of each section; the first has no title."""
    title, body = "", list[str]()
    for line in inspect.cleandoc(doc).splitlines():
        if body and body[-1] and re.fullmatch(r"-{3,}", line):
            following = body.pop()
            yield title, body
            title, body = following, []
        else:
            body.append(line)
    yield title, body


def items(body: list[str]) -> list[tuple[str, str, str]]:
    """Return names, type and text of the entries of a section."""
    found: list[tuple[str, list[str]]] = []
    for line in body:
        if line and not line.startswith(" "):
            found.append((line, []))
        elif found:
            found[-1][1].append(line)
    heads = [(head.partition(" : "), inspect.cleandoc("\n".join(text))) for head, text in found]
    return [(names, kind, text) for (names, _, kind), text in heads]


def entries(doc: str) -> dict[str, tuple[str, str]]:
    """Return type and text of all parameters and attributes of a docstring, by name."""
    return {
        name.strip(): (kind, text)
        for title, body in sections(doc)
        for names, kind, text in (items(body) if title in ("Parameters", "Attributes") else ())
        for name in names.split(",")
    }


def entry(names: str, kind: str, text: str) -> list[str]:
    """Return the lines of one entry."""
    head = f"{names} : {kind}" if kind else names
    return [head, *(f"    {line}" if line else "" for line in text.splitlines())]
