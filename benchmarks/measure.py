"""Ratios of times within one run, and the memory that a task needs.

Absolute times mean little on a shared machine. Tasks to be compared run alternately, several times,
and the ratio of their best times is reported.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "benchmarks"


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_turn(works: dict[str, Callable[[], object]], repeat: int = 3) -> dict[str, list[float]]:
    """Times of each task, run alternately ``repeat`` times after a warm-up."""
    for work in works.values():
        work()
    rounds = [{name: seconds(work) for name, work in works.items()} for _ in range(repeat)]
    return {name: [times[name] for times in rounds] for name in works}


def best_of(works: dict[str, Callable[[], object]], repeat: int = 3) -> dict[str, float]:
    """Best time of each task, run alternately."""
    return {name: min(times) for name, times in in_turn(works, repeat).items()}


def extra_memory(code: str) -> float:
    """Bytes that ``work()`` adds to the peak of a fresh process; ``code`` defines X and work."""
    script = (
        f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n{code}\n"
        "def memory(which):\n"
        "    with open('/proc/self/status') as f:\n"
        "        return next(int(line.split()[1]) * 1024 for line in f if line.startswith(which))\n"
        "before = memory('VmRSS')\nwork()\nprint(memory('VmHWM') - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=os.environ
    )
    return float(done.stdout.split()[-1])


def write_page(name: str, text: str, *, quiet: bool = False) -> None:
    PAGES.mkdir(parents=True, exist_ok=True)
    (PAGES / name).write_text(text, encoding="utf-8")
    if not quiet:
        print(text)


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [" | ".join(header), " | ".join("---" for _ in header)]
    lines += [" | ".join(row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def rows_of_page(path: Path) -> dict[str, list[str]]:
    """Rows of the table on the page; a run replaces those that it measures."""
    lines = path.read_text().splitlines() if path.exists() else []
    cells = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines if line[:2] == "| "]
    return {row[0]: row for row in cells[1:] if set(row[0]) != {"-"}}


Part = tuple[str, str, Callable[[], str]]


def write_in_parts(
    name: str, head: str, parts: dict[str, Part], wanted: list[str], shown: bool = False
) -> None:
    """Measure the requested parts of a page and write it, keeping the other parts.

    A part has a title, an introduction and a function that measures it. The page is written after
    every part, so that an interrupted run keeps its results; ``shown`` only prints the page.
    """
    kept: dict[str, str] = {}
    page = PAGES / name
    if page.exists() and set(wanted) != set(parts):
        pieces = re.split(r"^## (.*)\n", page.read_text(encoding="utf-8"), flags=re.M)[1:]
        kept = dict(zip(pieces[::2], pieces[1::2], strict=True))
    for part in wanted:
        title, about, work = parts[part]
        kept[title] = "\n" + (about + "\n\n" if about else "") + work()
        bodies = ((title, kept[title]) for title, _, _ in parts.values() if title in kept)
        text = head + "".join(f"\n## {title}\n{body.rstrip()}\n" for title, body in bodies)
        if shown:
            print(text)
        else:
            write_page(name, text)
