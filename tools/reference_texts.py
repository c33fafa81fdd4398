"""Parameters in full on the pages of the API, where docstrings say "As for ``Other``".

A docstring says a thing once. On a page of the site there is nobody to look it up, so what is said
of the parameter there is put in its place here, with what was added to it.
"""

import inspect
import re
from collections.abc import Mapping
from typing import Any

import sparsepath

NAME = r"(?::\w+:)?`{1,2}[\w.]+`{1,2}"
AS_FOR = re.compile(
    rf"^(?P<before>.*?)[Aa]s (?:for|of) (?:the ``fit`` of )?(?P<others>{NAME}(?: and {NAME})?)"
    r"(?P<after>.*)$",
    re.DOTALL,
)
Entry = tuple[str, str, str]
"""Section, head (names and type) and text of what a docstring explains."""


def entries(doc: str) -> dict[str, Entry]:
    """What a docstring explains, by name."""
    found: dict[str, Entry] = {}
    for section, body in sections(inspect.cleandoc(doc)):
        for head, text in items(body) if section in ("Parameters", "Attributes") else ():
            names, colon, kind = head.partition(" : ")
            for name in names.split(","):
                found[name.strip().lstrip("*")] = (section, f"{colon}{kind}", text)
    return found


def sections(doc: str) -> list[tuple[str, list[str]]]:
    """The parts of a docstring under their titles, in order; the first has none."""
    lines = doc.splitlines()
    parts: list[tuple[str, list[str]]] = [("", [])]
    at = 0
    while at < len(lines):
        if at + 1 < len(lines) and lines[at] and re.fullmatch(r"-{3,}", lines[at + 1]):
            parts.append((lines[at], []))
            at += 2
            continue
        parts[-1][1].append(lines[at])
        at += 1
    return parts


def items(body: list[str]) -> list[tuple[str, str]]:
    """Heads with the text below them."""
    found: list[tuple[str, list[str]]] = []
    for line in body:
        if line and not line.startswith(" "):
            found.append((line, []))
        elif found:
            found[-1][1].append(line)
    return [(head, inspect.cleandoc("\n".join(text))) for head, text in found]


def documented(name: str) -> dict[str, Entry]:
    """What ``Class`` or ``Class.method`` explains; parameters of its ``fit`` too."""
    value: Any = sparsepath
    for part in name.removeprefix("sparsepath.").split("."):
        value = getattr(value, part, None)
    found = entries(value.__doc__ or "") if value is not None else {}
    if inspect.isclass(value) and hasattr(value, "fit"):
        found = {**entries(value.fit.__doc__ or ""), **found}
    return found


def full(name: str, kind: str, text: str, names: int = 1) -> tuple[str, str]:
    """Type and text of one of so many names, with what is said elsewhere put in.

    What is added to it for several names at once goes to those that it names, or to all.
    """
    match = AS_FOR.match(text)
    if match is None:
        return kind, text
    others = re.findall(r"`([\w.]+)`", match["others"])
    there = next((told[name] for told in map(documented, others) if name in told), None)
    if there is None:
        return kind, text
    other_kind, other_text = full(name, there[1], there[2])
    after = match["after"].strip().lstrip(";,.: ").strip()
    added = f"{match['before'].strip()} {after}".strip()
    named = re.findall(r"``(\w+)", added)
    if added and (names == 1 or name in named or not named):
        other_text += f" {added[0].upper()}{added[1:].rstrip('.')}."
    return kind or other_kind, other_text


def parameters_of(value: Any) -> Mapping[str, inspect.Parameter]:
    """What a class or a function takes."""
    try:
        return inspect.signature(value).parameters
    except (TypeError, ValueError):  # no function, or an exception
        return {}


def written_out(doc: str, value: Any) -> list[str]:
    """The docstring of something, no parameter left at "As for"; defaults are the signature's."""
    parameters = parameters_of(value)
    lines: list[str] = []
    for section, body in sections(inspect.cleandoc(doc)):
        if section:
            lines += [section, "-" * len(section)]
        if section not in ("Parameters", "Attributes"):
            lines += body
            continue
        for head, text in items(body):
            names, colon, kind = head.partition(" : ")
            if not AS_FOR.match(text):
                lines += [head, *indented(text)]
                continue
            for name in (one.strip() for one in names.split(",")):
                own = "" if "," in names else f"{colon}{kind}"
                told, words = full(name.lstrip("*"), own, text, names.count(",") + 1)
                if name in parameters and parameters[name].default is not inspect.Parameter.empty:
                    default = f"default={parameters[name].default!r}".replace("'", '"')
                    told = re.sub("default=.*", lambda _, new=default: new, told)
                lines += [f"{name}{told or colon + kind}", *indented(words)]
        lines.append("")
    return lines


def indented(text: str) -> list[str]:
    """As it stands below its head."""
    return [f"    {line}" if line else "" for line in text.splitlines()]


def escaped(line: str) -> str:
    r"""A line with an absolute value in it; |x| would be a substitution."""
    return line.replace("|", r"\|")


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Sphinx's hook, before napoleon's."""
    if any(AS_FOR.match(line) for line in lines):
        lines[:] = written_out("\n".join(lines), obj)
    lines[:] = [line if "``" in line or ">>>" in line else escaped(line) for line in lines]


def ours(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn's base classes bring, but for what everybody calls."""
    home = getattr(obj, "__module__", None) or ""
    if home.startswith("sklearn") and name not in ("transform", "fit_transform", "get_support"):
        return True
    return None


def setup(app: Any) -> dict[str, Any]:
    """Told by Sphinx to begin."""
    app.connect("autodoc-process-docstring", process, priority=100)
    app.connect("autodoc-skip-member", ours)
    return {"parallel_read_safe": True}
