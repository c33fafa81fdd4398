"""The fragments of changes/ as one section of the changelog.

Usage:

    python tools/changelog.py                       # print the section "Unreleased"
    python tools/changelog.py 0.2.0 2027-01-31      # move the fragments to CHANGELOG.md
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
KINDS = ("added", "changed", "fixed", "removed")
TOP = "# Changelog\n"
PAGE = ROOT / "CHANGELOG.md"


def fragments() -> list[Path]:
    """All fragments, sorted by topic; raise an error for an invalid name."""
    found = sorted((ROOT / "changes").glob("*.md"))
    for file in found:
        if file.name.split(".")[-2] not in KINDS:
            raise SystemExit(f"{file}: name it <topic>.<kind>.md, kind one of {', '.join(KINDS)}.")
    return found


def section(title: str) -> str:
    """The section with this title; empty if there are no fragments."""
    lines = []
    for kind in KINDS:
        texts = [
            " ".join(file.read_text("utf-8").split())
            for file in fragments()
            if file.name.endswith(f".{kind}.md")
        ]
        if texts:
            lines += [f"### {kind.capitalize()}", "", *(f"- {text}" for text in texts), ""]
    return "\n".join([f"## {title}", "", *lines]) if lines else ""


def main() -> None:
    if len(sys.argv) == 1:
        print(section("Unreleased"))
        return
    version, date = sys.argv[1:]
    before = PAGE.read_text("utf-8").removeprefix(TOP)
    PAGE.write_text(f"{TOP}\n{section(f'{version} ({date})').rstrip()}\n{before}", "utf-8")
    for file in fragments():
        file.unlink()


if __name__ == "__main__":
    main()
