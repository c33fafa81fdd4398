"""The experiments of Perkins, Lacker and Theiler (2003): Figure 2, Figure 3, Tables 2 and 3.

    python experiments/grafting.py             # as on the page; about 20 minutes of one core
    python experiments/grafting.py --quick     # few instances and sets, to try it out: minutes
    python experiments/grafting.py --tiny      # one instance of C, without (d) and (g), for a test: seconds
    python experiments/grafting.py --jobs 2    # two processes
    python experiments/grafting.py --only cdefgh   # only these algorithms; no page is written
    python experiments/grafting.py --page      # writes the page from finished parts

Writes docs/results/grafting.md and its figures. Data sets D and E are read from the folder in
SPARSEPATH_DATA (see paper_sets.py). Every finished part is kept in build/, and an interrupted run
resumes, unless the code of that part has changed.
"""

import argparse
import os
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from joblib import Parallel, delayed

import paper_sets
from grafting_figure2 import METHODS, SD, errors_of
from grafting_measures import found_penalties, one, smaller_l1_on_c
from grafting_page import NAMES, write
from grafting_problems import FILES
from parts import ROOT, Parts
from sparsepath.errors import FileError

ELSEWHERE = ("groups.py", "softmax.py", "plots.py")  # three classes, pictures
SOLVERS = sorted(
    file.relative_to(ROOT).as_posix()
    for file in (ROOT / "src/sparsepath/grafting").rglob("*.py")
    if file.name not in ELSEWHERE
)
DATA = "src/sparsepath/data/synthetic.py"
SETTING = [DATA, "experiments/grafting_problems.py", "experiments/grafting_measures.py"]
DEPENDS = {
    "graft": [*SETTING, *SOLVERS],
    "rival": [*SETTING, "experiments/grafting_rivals.py"],
    "table2": [*SETTING, *SOLVERS],
    "figure2": [DATA, "experiments/grafting_figure2.py"],
    "figure2 graft": [DATA, "experiments/grafting_figure2.py", *SOLVERS],
}
FEWER = {  # instances of what takes long
    "g": {"A": 3, "B": 3, "C": 1, "D": 0, "E": 1},
}
SMALLER_L1 = {"linear": (0.2, 0.1, 0.05, 0.02), "MLP": (0.1, 0.03, 0.01)}  # on C


def tasks(settings, counts, irrelevants):
    """(kind, name, work, arguments) of all parts; those that take long last."""
    for letter in sorted(settings.only):
        if letter != "g":
            kind = "graft" if letter in "ab" else "rival"
            yield from instances(kind, letter, counts)
    if {"a", "b"} <= set(settings.only):
        for model, l1s in SMALLER_L1.items():
            for l1 in l1s[:1] if settings.tiny else l1s:
                arguments = (model, l1, counts["C"])
                yield "graft", "-".join(map(str, arguments)), smaller_l1_on_c, arguments
    for method in METHODS:
        kind = "figure2 graft" if method == "O1" else "figure2"
        if method == "O1" and "a" not in settings.only:
            continue
        for sd in SD:
            for k in irrelevants:
                arguments = (method, sd, k, settings.sets, settings.tune)
                yield kind, "-".join(map(str, arguments)), errors_of, arguments
    if "g" in settings.only:
        yield from sorted(instances("rival", "g", counts), key=lambda task: task[3][2])
    if {"a", "b"} <= set(settings.only):
        for letter in "a" if settings.tiny else "ab":
            for name in counts:
                yield "table2", f"table2-{name}-{letter}", found_penalties, (letter, name)


def instances(kind, letter, counts):
    for name, count in counts.items():
        for seed in range(min(count, FEWER.get(letter, {}).get(name, count))):
            if count == 1 and letter in "dg":
                continue
            yield kind, f"{name}-{letter}-{seed}", one, (letter, name, seed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--only", default="".join(NAMES), help="letters of the algorithms")
    parser.add_argument("--parts", type=Path, default=ROOT / "build" / "grafting")
    settings = parser.parse_args()
    warnings.simplefilter("ignore")
    few = settings.quick or settings.tiny
    settings.sets, settings.tune = (4, 4) if settings.tiny else (30, 10) if few else (60, 30)
    irrelevants = (0, 4) if settings.tiny else (0, 4, 12) if few else (0, 2, 4, 8, 12)
    count = 1 if settings.tiny else 2 if few else 10
    counts = dict.fromkeys("C" if settings.tiny else "ABC", count)
    for name, file in sorted(FILES.items(), reverse=True):  # D takes the longest
        if settings.tiny:
            break
        try:
            paper_sets.load(file)
            counts[name] = count
        except FileError as missing:
            print(f"data set {name} is left out: {missing}")
    parts = Parts(settings.parts, DEPENDS)
    todo = list(tasks(settings, counts, irrelevants))
    if settings.page:
        todo = [task for task in todo if parts.file(*task[:2]).exists()]
    done = Parallel(settings.jobs)(
        delayed(parts.get)(kind, name, work, *arguments) for kind, name, work, arguments in todo
    )
    found = {name: part for (_, name, *_), part in zip(todo, done, strict=True)}
    if set(settings.only) == set(NAMES):
        fig2 = {
            (sd, k): np.array(
                [found[f"{x}-{sd}-{k}-{settings.sets}-{settings.tune}"] for x in METHODS]
            )
            for sd in SD
            for k in irrelevants
        }
        fig3 = {
            (name, x): np.array(
                [
                    found[f"{name}-{x}-{seed}"]
                    for seed in range(count)
                    if f"{name}-{x}-{seed}" in found
                ]
            ).reshape(-1, 4)
            for name, count in sorted(counts.items())
            for x in NAMES
        }
        on_c = [
            (kind, l1, *found[f"{kind}-{l1}-{counts['C']}"])
            for kind, l1s in SMALLER_L1.items()
            for l1 in l1s
            if f"{kind}-{l1}-{counts['C']}" in found
        ]
        penalties = {
            (name, x): found[f"table2-{name}-{x}"]
            for name in sorted(counts)
            for x in "ab"
            if f"table2-{name}-{x}" in found
        }
        write(settings, fig2, fig3, on_c, penalties)


if __name__ == "__main__":
    main()
