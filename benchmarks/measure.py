"""Timing as ratios of one run, and the memory a piece of work needs.

Absolute times mean little on a shared machine. Two things to be compared are run in turn, several
times, and the ratio of their best times is given.
"""

import os
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
    """Times of each piece of work, run in turn ``repeat`` times after a warm-up."""
    for work in works.values():
        work()
    rounds = [{name: seconds(work) for name, work in works.items()} for _ in range(repeat)]
    return {name: [times[name] for times in rounds] for name in works}


def best_of(works: dict[str, Callable[[], object]], repeat: int = 3) -> dict[str, float]:
    """Best time of each piece of work, run in turn."""
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


def write_page(name: str, text: str) -> None:
    PAGES.mkdir(parents=True, exist_ok=True)
    (PAGES / name).write_text(text, encoding="utf-8")
    print(text)


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [" | ".join(header), " | ".join("---" for _ in header)]
    lines += [" | ".join(row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)
