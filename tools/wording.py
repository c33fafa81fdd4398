"""Find words that make readers stop, in strings, docstrings and documentation.

``python tools/wording.py`` reads every string of the Python sources (docstrings, messages, help),
the report page, and all Markdown and reStructuredText files. It prints each place that uses a
word of ``WORDS``, with what to write instead. ``make check`` runs it.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACES = ["*.md", "benchmarks", "changes", "docs", "examples", "experiments", "src", "tools"]
PLACES += ["Makefile", "pyproject.toml"]
TEXT = {".md", ".rst", ".html", ".js", ".toml", ""}

WORDS = {
    r"told(?! [=:]|\.\w)": "reported, estimated",
    r"(?<!\.)tells?": "shows, reports, says",
    r"mend(?:s|ed|ing)?": "fix, repair",
    r"afresh|anew": "again, recomputed",
    r"ask(?:s|ed)? for": "requested, requires",
    r"of which": "split the sentence",
    r"dear(?:er|est)?": "expensive",
    r"who(?:m|so)?ever": "anyone who, users who",
    r"errs?|erred": "is wrong, has an error of",
    r"(?:is|are|was|were|be) passed over": "is skipped",
    r"(?:came|comes?) to (?:its|an|the) end": "finish",
    r"in the same way": "likewise, (same resampling)",
    r"at the terminal": "on the command line",
    r"by the clock": "wall time",
    r"(?<!number )of (?:two |three |many |several )?classes": "for classification",
    r"flatter(?:s|ed|ing)?": "is optimistic",
    r"in comes": "adds",
    r"on its side": "transposed",
    r"good only together": "interacting",
    r"takes? for granted": "assumes",
    r"anything at all": "any signal",
    r"thereof|thereby|hereby|lest|heeds?": "use a plain sentence",
    r"yardsticks?": "metric, measure",
    r"no word more": "only the result",
    r"as many as there are": "all",
    r"lets? in": "accept, add",
    r"said of": "only for, described for",
    r"what is told": "the report",
    r"earns? (?:its|their) place": "helps, is kept",
    r"came of": "result of",
    r"dealt (?:out|to)": "assigned",
    r"is no text(?! encoding)": "is not text",
    r"goes? on (?:from|where)": "resume",
    r"stands? in for": "replace, is interchangeable with",
    r"stands? for (?:all|the rest)": "replace",
    r"stands? beside|beside (?:it|them|that)": "next to, compared with",
    r"settles? on": "choose",
    r"people know": "familiar",
    r"what is left of": "the rest, the residual",
    r"but for the": "except",
    r"cut goes on": "resume",
    r"nobody has": "use the passive",
    r"somebody": "another person, the user",
    r"for a look": "to try",
    r"far off(?! the path)": "inaccurate, away from zero",
    r"(?:is|are) looked at": "is examined, is evaluated",
    r"holds? the (?:truth|true error)": "contain",
    r"(?:came|comes?) out (?:at|as|so)": "is, result in",
    r"the least of all": "the overall minimum",
}
PATTERN = re.compile("|".join(rf"\b(?:{word})\b" for word in WORDS), re.IGNORECASE)


def advice(found: str) -> str:
    """What to write instead."""
    return next(
        better for word, better in WORDS.items() if re.fullmatch(word, found, re.IGNORECASE)
    )


def python_texts(source: str) -> Iterator[tuple[int, str]]:
    """Line number and line of every string in a Python source that has more than one word."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            for offset, line in enumerate(node.value.splitlines()):
                yield node.lineno + offset, line


LITERAL = re.compile(r"""(["'`])((?:(?!\1).)*)\1""")


def script_texts(source: str) -> Iterator[tuple[int, str]]:
    """Line number and text of every string in a script that has more than one word."""
    for number, line in enumerate(source.splitlines(), 1):
        for match in LITERAL.finditer(line):
            if " " in match[2]:
                yield number, re.sub(r"\$\{[^}]*\}", "", match[2])


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Line number and line of everything that a reader can see."""
    source = path.read_text("utf-8")
    if path.suffix == ".py":
        return python_texts(source)
    if path.suffix == ".js":
        return script_texts(source)
    return enumerate(source.splitlines(), 1)


def places(path: Path) -> list[tuple[int, str]]:
    """Line numbers and words to replace in one file; names in backticks may be anything."""
    return [
        (number, match[0])
        for number, line in texts(path)
        for match in PATTERN.finditer(re.sub("`+[^`]*`+", "", line))
    ]


def files() -> list[str]:
    """All files with text for people."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *PLACES]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = sorted(set(listed.splitlines()))
    readable = [name for name in names if Path(name).suffix in {".py", *TEXT}]
    own = Path(__file__).relative_to(ROOT).as_posix()
    return [name for name in readable if name != own and (ROOT / name).is_file()]


def problems() -> list[str]:
    """One line per word to replace."""
    found = {name: places(ROOT / name) for name in files()}
    return [
        f"{name}:{number}: {word!r}: write {advice(word)}"
        for name, here in found.items()
        for number, word in here
    ]


if __name__ == "__main__":
    found_problems = problems()
    print(*found_problems, sep="\n", end="\n" if found_problems else "")
    sys.exit(bool(found_problems))
