"""Docstrings in full: what is said "As for ``Other``" in the source is put in when it is asked for.

The source says a thing once. Whom ``help`` tells it has nobody to look it up, so the class of an
estimator gets a :class:`FullText` for its docstring: nothing is done until somebody reads it. A
function has a plain one, which is written out at once.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

NAME = r"(?::\w+:)?`{1,2}[\w.]+`{1,2}"
AS_FOR = re.compile(
    rf"^(?P<before>.*?)[Aa]s (?:for|of) (?P<others>{NAME}(?: and {NAME})?)(?P<after>.*)$", re.DOTALL
)


class FullText:
    """The docstring of a class, written out whenever it is read."""

    def __init__(self, doc: str, find: Callable[[str], Any]) -> None:
        self.doc, self.find = doc, find

    def __get__(self, instance: object, owner: type) -> str:
        """Python asks this for ``owner.__doc__``."""
        return written_out(self.doc, owner, self.find)


def in_full(value: Any, find: Callable[[str], Any]) -> None:
    """Have the docstring of a class or a function in full; ``find`` knows other classes."""
    doc = value.__doc__
    value.__doc__ = (
        FullText(doc, find) if isinstance(value, type) else written_out(doc, value, find)
    )


def sections(doc: str) -> Iterator[tuple[str, list[str]]]:
    """The parts of a docstring under their titles, in order; the first has none."""
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
    """Names, type and text of what a section explains."""
    found: list[tuple[str, list[str]]] = []
    for line in body:
        if line and not line.startswith(" "):
            found.append((line, []))
        elif found:
            found[-1][1].append(line)
    heads = [(head.partition(" : "), inspect.cleandoc("\n".join(text))) for head, text in found]
    return [(names, kind, text) for (names, _, kind), text in heads]


def entries(doc: str) -> dict[str, tuple[str, str]]:
    """Type and text of the parameters and attributes that a docstring explains."""
    return {
        name.strip(): (kind, text)
        for title, body in sections(doc)
        for names, kind, text in (items(body) if title in ("Parameters", "Attributes") else ())
        for name in names.split(",")
    }


def put_in(name: str, text: str, several: bool, find: Callable[[str], Any]) -> tuple[str, str]:
    """Type and text of a parameter, found where its text says.

    What the text adds for several names at once goes to those that it names, or to all.
    """
    match = AS_FOR.match(text)
    others = re.findall(r"`([\w.]+)`", match["others"]) if match else []
    told = (entries(find(other).__doc__) for other in others)
    there = next((found[name] for found in told if name in found), None)
    if match is None or there is None:
        return "", text
    kind, text = there
    added = f"{match['before'].strip(' ,')} {match['after'].lstrip(' ;,.:')}".strip()
    named = re.findall(r"``(\w+)", added)
    if added and (not several or name in named or not named):
        text += f" {added[0].upper()}{added[1:].rstrip('.')}."
    return kind, text


def written_out(doc: str, owner: Any, find: Callable[[str], Any]) -> str:
    """A docstring that leaves nothing at "As for"; defaults are those of the signature."""
    parameters = inspect.signature(owner).parameters
    lines: list[str] = []
    for title, body in sections(doc):
        lines += [title, "-" * len(title)] if title else []
        if title not in ("Parameters", "Attributes"):
            lines += body
            continue
        for names, kind, text in items(body):
            if not AS_FOR.match(text):
                lines += entry(names, kind, text)
                continue
            told: dict[tuple[str, str], list[str]] = {}
            for name in (one.strip() for one in names.split(",")):
                other, words = put_in(name, text, "," in names, find)
                own = with_default(kind or other, name, parameters)
                told.setdefault((own, words), []).append(name)
            for (own, words), alike in told.items():
                lines += entry(", ".join(alike), own, words)
        if title == "Attributes":
            lines += inherited(owner, known={*entries(doc)})
        lines.append("")
    return "\n".join(lines)


def inherited(owner: Any, known: set[str]) -> list[str]:
    """What the classes beneath one explain of attributes that are not known yet."""
    lines: list[str] = []
    for base in owner.__mro__[1:]:
        doc = vars(base).get("__doc__") or ""
        for title, body in sections(doc.doc if isinstance(doc, FullText) else doc):
            for names, kind, text in items(body) if title == "Attributes" else ():
                new = [name for name in map(str.strip, names.split(",")) if name not in known]
                lines += entry(", ".join(new), kind, text) if new else []
                known.update(new)
    return lines


def with_default(kind: str, name: str, parameters: Mapping[str, inspect.Parameter]) -> str:
    """The type of a parameter with its own default, not that of another class."""
    if name not in parameters:
        return kind
    default = repr(parameters[name].default).replace("'", '"')
    return re.sub("default=.*", lambda _: f"default={default}", kind)


def entry(names: str, kind: str, text: str) -> list[str]:
    """As it stands in a docstring."""
    head = f"{names} : {kind}" if kind else names
    return [head, *(f"    {line}" if line else "" for line in text.splitlines())]
