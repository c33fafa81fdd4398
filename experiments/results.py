"""Shared by the experiments: where they write pages and figures, and small functions.

``SPARSEPATH_PAGES`` sets another folder than ``docs/results``.
"""

import os
import subprocess
from pathlib import Path

from matplotlib.figure import Figure

ROOT = Path(__file__).resolve().parent.parent
PAGES = Path(os.environ.get("SPARSEPATH_PAGES", ROOT / "docs" / "results"))


def save_figure(figure: Figure, name: str) -> str:
    """Write a figure to the folder of the pages; return the Markdown that shows it."""
    PAGES.mkdir(parents=True, exist_ok=True)
    figure.savefig(PAGES / f"{name}.png", dpi=110, bbox_inches="tight")
    return f"![{name}]({name}.png)"


def save_page(name: str, text: str) -> None:
    """Write a page, with the commit that it was made with and the CPU seconds of this run."""
    PAGES.mkdir(parents=True, exist_ok=True)
    text = f"{text.rstrip()}\n\nMade with the code of commit {commit()} in {cpu_seconds():.0f} CPU seconds.\n"
    (PAGES / f"{name}.md").write_text(text, encoding="utf-8")
    print(f"written: {PAGES / name}.md")


def cpu_seconds() -> float:
    """CPU seconds of this process and of those that it started and that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def commit() -> str:
    """The commit of the code at hand; "unknown" outside a repository."""
    ask = ["git", "-C", str(ROOT), "rev-parse", "--short=10", "HEAD"]
    try:
        return subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def table(header: list[str], rows: list[list[object]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
