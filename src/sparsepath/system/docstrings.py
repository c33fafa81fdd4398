"""Read the sections of a numpydoc docstring."""

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

Documented = TypeVar("Documented", bound=Callable[..., Any])


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


def parameters_like(*others: Any, attributes: bool = False) -> Callable[[Documented], Documented]:
    """Decorate a class or function: describe its parameters as others do.

    Parameters that its docstring does not describe have the description of the first of the others
    that has one; so have ``attributes``, if requested.
    """

    def complete(of: Documented) -> Documented:
        if of.__doc__ and all(other.__doc__ for other in others):  # python -OO has none
            of.__doc__ = _completed(of, [other.__doc__ for other in others], attributes)
        return of

    return complete


def _completed(of: Any, others: list[str], attributes: bool) -> str:
    parameters = list(inspect.signature(of).parameters)
    lines: list[str] = []
    for title, body in sections(of.__doc__):
        if title == "Parameters" or (title == "Attributes" and attributes):
            known: dict[str, tuple[str, str, str]] = {}  # name to its entry
            for section in [_section(doc, title) for doc in reversed(others)] + [body]:
                for found in items(section):
                    known |= {name.strip(): found for name in found[0].split(",")}
            names = parameters if title == "Parameters" else list(known)
            together: dict[tuple[str, str, str], list[str]] = {}
            for name in names:
                together.setdefault(known[name], []).append(name)
            each = (entry(", ".join(of), *found[1:]) for found, of in together.items())
            body = [line for one in each for line in one] + [""]
        lines += [*([title, "-" * len(title)] if title else []), *body]
    return "\n".join(lines)


def _section(doc: str, title: str) -> list[str]:
    return [line for of, body in sections(doc) if of == title for line in body]
