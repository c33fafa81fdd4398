"""The claims of the ELM-FS paper for several seeds: subsets, test errors, agreement of seeds.

    python experiments/elmfs_claims.py [--seeds 10] [--parts FOLDER] [--minutes N]

Writes docs/results/elmfs-claims.md, with default parameters and only the claims.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from elmfs_problems import PROBLEMS, Parts, Problem, Split, called
from results import save_page
from sparsepath import ELMFSRegressor, LarsSelector, MutualInfoSelector, OPELMRegressor

SEARCHES = {"both": "default search", "scaling": "Algorithm 1"}
RIVALS = ("LARS", "MI-FW")
XOR, FUNCTIONAL, DIABETES, POLAND, SANTA_FE, ANTHROKIDS = PROBLEMS


@dataclass(frozen=True)
class Run:
    """What one run left, by size from 1 on."""

    subsets: list[frozenset[int]]  # columns counted from 1
    errors: list[float]  # SET, or the leave-one-out error of the method's own model
    standard_errors: list[float]
    tested: list[float]  # test error of OP-ELM on the subset
    own: list[float]  # test error of the machine that earned the error
    seconds: float
    chosen: int  # by the one-standard-error rule

    def has(self, size: int, *columns: int) -> bool:
        """Whether the best subset of a size is this one."""
        return size <= len(self.subsets) and self.subsets[size - 1] == set(columns)

    @property
    def least(self) -> int:
        """The size of the least error."""
        return int(np.argmin(self.errors)) + 1


def measure(data: Split, method: str, size: int | None, restarts: int, seed: int) -> dict[str, Any]:
    """One run of a method on one split, as a part to be stored."""
    selector: Any
    if method == "LARS":
        selector = LarsSelector(size, choose="min")
    elif method == "MI-FW":
        selector = MutualInfoSelector(size, random_state=seed, n_threads=1)
    else:
        selector = ELMFSRegressor(
            size or data.X.shape[1],
            strategy=method,
            n_restarts=restarts,
            random_state=seed,
            n_threads=1,
            validation=None,
        )
    start = time.process_time()
    path = selector.fit(data.X, data.y).path_
    seconds = time.process_time() - start
    judge = OPELMRegressor(100, random_state=seed, reach=np.inf)
    judged = path.evaluate(judge, data.X, data.y, data.X_test, data.y_test)
    sizes = path.sizes[1:]
    own = []
    if hasattr(selector, "predict"):
        own = [
            float(np.square(selector.at_size(k).predict(data.X_test) - data.y_test).mean())
            for k in sizes
        ]
    return {
        "subsets": [[int(i) + 1 for i in path.subset(k)] for k in sizes],
        "errors": [float(path.error(k)) for k in sizes],
        "standard_errors": [float(path.error_se(k)) for k in sizes],
        "tested": [float(judged.error(k)) for k in sizes],
        "own": own,
        "seconds": seconds,
        "chosen": int(path.choose("one_se")) if method in SEARCHES else 0,
    }


def runs(
    parts: Parts,
    problem: Problem,
    method: str,
    seeds: int,
    restarts: int,
    size: int | None,
    one_split: bool = False,
) -> list[Run]:
    """All available runs over seeds; the seed also draws the split, unless ``one_split``."""
    found = []
    for seed in range(seeds):
        name = f"{problem.key}-{method}-{size}-{restarts}-{seed}{'-one' if one_split else ''}"
        part = parts.get(
            name,
            lambda seed=seed: measure(
                problem.split(0 if one_split else seed), method, size, restarts, seed
            ),
        )
        if part is not None:
            subsets = [frozenset(subset) for subset in part.pop("subsets")]
            found.append(Run(subsets=subsets, **part))
    return found


CLAIMS: list[tuple[str, Problem, str, Callable[[Run], bool]]] = [
    (
        "{1}, {2,3}, {1,2,3}",
        XOR,
        "all",
        lambda r: r.has(1, 1) and r.has(2, 2, 3) and r.has(3, 1, 2, 3),
    ),
    ("lowest SET at size 3", XOR, "all", lambda r: r.least == 3),
    ("{1..5} at size 5", FUNCTIONAL, "95 %", lambda r: r.has(5, 1, 2, 3, 4, 5)),
    (
        "and lowest SET there",
        FUNCTIONAL,
        "95 %",
        lambda r: r.has(5, 1, 2, 3, 4, 5) and r.least == 5,
    ),
    ("{bmi, s5} at size 2", DIABETES, "all", lambda r: r.has(2, 3, 9)),
    ("{bmi, bp, s5} at size 3", DIABETES, "90 %", lambda r: r.has(3, 3, 4, 9)),
    ("{1,2,4,7} at size 4", SANTA_FE, "", lambda r: r.has(4, 1, 2, 4, 7)),
    ("{1,3,7,8,21,22,23} at size 7", POLAND, "", lambda r: r.has(7, 1, 3, 7, 8, 21, 22, 23)),
]
ABOUT = (XOR, FUNCTIONAL, DIABETES, SANTA_FE, POLAND)


def claims(
    parts: Parts,
    strategies: tuple[str, ...],
    seeds: int,
    restarts: int,
    about: tuple[Problem, ...] = ABOUT,
) -> list[str]:
    """How often the subsets stated in the paper are found."""
    found = {
        (problem.key, strategy): runs(
            parts, problem, strategy, seeds, restarts, problem.claims_size
        )
        for strategy in strategies
        for problem in about
    }
    lines = [
        "## Claims over seeds",
        "",
        f"ELM-FS with {restarts} restarts and otherwise default parameters, {seeds} seeds. Each seed draws the",
        "data (or the 70/30 split; that of Santa Fe is fixed), the neurons and the starting points. SET is the",
        "leave-one-out error at each size; braces contain the numbers of the selected features.",
        "",
        "| problem | claim | goal | " + " | ".join(SEARCHES[s] for s in strategies) + " |",
        "|---|---|---|" + "---|" * len(strategies),
    ]
    for text, problem, goal, holds in CLAIMS:
        if problem not in about:
            continue
        counts = [_count(found[problem.key, s], holds) for s in strategies]
        lines.append(f"| {problem.title} | {text} | {goal} | " + " | ".join(counts) + " |")
    lines += ["", "CPU seconds per seed, median:", ""]
    heads = " | ".join(SEARCHES[s] for s in strategies)
    lines += [f"| problem | {heads} |", "|---|" + "---|" * len(strategies)]
    for problem in about:
        times = [
            f"{np.median([r.seconds for r in found[problem.key, s]]):.1f}"
            if found[problem.key, s]
            else ""
            for s in strategies
        ]
        lines.append(f"| {problem.title} | " + " | ".join(times) + " |")
    return [*lines, ""]


def _count(found: list[Run], holds: Callable[[Run], bool]) -> str:
    return f"{sum(map(holds, found))} of {len(found)}" if found else ""


def errors_over_seeds(
    parts: Parts,
    problem: Problem,
    seeds: int,
    restarts: int,
    size: int | None,
    rivals: tuple[str, ...] = RIVALS,
) -> list[str]:
    """SET and test errors by size of ELM-FS and of rivals, medians over seeds."""
    found = {
        method: runs(parts, problem, method, seeds, restarts, size) for method in ("both", *rivals)
    }
    common = min(map(len, found.values()))  # seeds that all methods have
    found = {method: some[:common] for method, some in found.items()}
    here = found["both"]
    if not here:
        return []
    chosen = [r.chosen for r in here]
    cut = "" if len(here) == seeds else f" (of {seeds}: not enough time for all)"
    lines = [
        f"### {problem.title}, sizes up to {min(len(r.errors) for r in here)}",
        "",
        f"{len(here)} seeds{cut}. Medians, with minimum and maximum in brackets. Chosen by the "
        "one-standard-error rule:",
        f"{_counted(chosen)}. Lowest SET: {_counted([r.least for r in here])}.",
        "",
        " | ".join(
            [
                "| size | SET | standard error",
                "test: ELM-FS",
                *rivals,
                "test: scaled machine",
                "most frequent subset |",
            ]
        ),
        "|---|" + "---|" * (5 + len(rivals)),
    ]
    for k in range(min(len(r.errors) for r in here)):
        sets = [r.subsets[k] for r in here]
        commonest = max(sets, key=lambda s: (sets.count(s), sorted(s)))
        cells = [
            _spread([r.errors[k] for r in here]),
            f"{np.median([r.standard_errors[k] for r in here]):.2g}",
            _spread([r.tested[k] for r in here]),
            *(_spread([r.tested[k] for r in found[m] if k < len(r.tested)]) for m in rivals),
            _spread([r.own[k] for r in here]),
            f"{called([i - 1 for i in commonest])}, {sets.count(commonest)} of {len(sets)}",
        ]
        lines.append(f"| {k + 1} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def _spread(values: list[float]) -> str:
    return f"{np.median(values):.3g} ({min(values):.3g} to {max(values):.3g})" if values else ""


def _counted(sizes: list[int]) -> str:
    """Sizes and how often, as 'size 3 (20 seeds)'."""
    return ", ".join(
        f"size {s} ({sizes.count(s)} seed{'s' * (sizes.count(s) > 1)})" for s in sorted(set(sizes))
    )


def agreement(parts: Parts, size: int, seeds: int, restarts: int) -> list[str]:
    """Agreement of the subsets of different seeds of neurons and starting points, 53 features."""
    lines = ["## Agreement between seeds on 53 features (anthrokids)", ""]
    found = runs(parts, ANTHROKIDS, "both", seeds, restarts, size, one_split=True)
    if len(found) < 2:
        return []
    seconds = np.mean([r.seconds for r in found])
    lines += [
        f"Sizes 1 to {size}, {restarts} restarts, {len(found)} seeds of neurons and starting points on one split, "
        f"{seconds:.2g} CPU seconds each.",
        '"In common" is the fraction of a subset that another seed also selects, as the mean over pairs of seeds (by',
        'chance: size / 53). "Alike" also counts features that correlate at 0.95 or more with one selected by the',
        'other seed. "In all" lists the features that every seed selects. The last column is the difference between the',
        "largest and the smallest SET, in standard errors.",
        "",
        "| size | in common | by chance | alike | in all | SET, smallest to largest | difference |",
        "|---|---|---|---|---|---|---|",
    ]
    twins = np.abs(np.corrcoef(ANTHROKIDS.split(0).X.T)) >= 0.95
    for k in range(1, size + 1):
        subsets = [r.subsets[k - 1] for r in found]
        shared = [len(a & b) / k for a, b in combinations(subsets, 2)]
        alike = [
            (_matched(a, b, twins) + _matched(b, a, twins)) / (2 * k)
            for a, b in combinations(subsets, 2)
        ]
        errors = [r.errors[k - 1] for r in found]
        spread = (max(errors) - min(errors)) / np.median([r.standard_errors[k - 1] for r in found])
        common = [i - 1 for i in frozenset.intersection(*subsets)]
        lines.append(
            f"| {k} | {np.mean(shared):.2f} | {k / 53:.2f} | {np.mean(alike):.2f} | "
            f"{called(common)} | {min(errors):.4g} to {max(errors):.4g} | {spread:.2f} |"
        )
    return [*lines, ""]


def _matched(a: frozenset[int], b: frozenset[int], twins: Any) -> int:
    """How many features of a have themselves or a near twin in b."""
    columns = [j - 1 for j in b]
    return sum(bool(twins[i - 1, columns].any()) for i in a)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--tiny", action="store_true", help="one problem, for a test")
    parser.add_argument("--parts", type=Path, help="where to store finished parts")
    parser.add_argument(
        "--minutes", type=float, default=np.inf, help="start no part after this time"
    )
    given = parser.parse_args()
    parts = Parts(given.parts, given.minutes)
    restarts = ELMFSRegressor().n_restarts
    about = (XOR,) if given.tiny else ABOUT
    for seeds in range(1, given.seeds + 1):  # seed by seed, so that a cut leaves all problems alike
        section = claims(parts, ("both",), seeds, restarts, about)
    head = "# ELM-FS with default parameters: the claims of the paper"
    made = f"Written by `python experiments/elmfs_claims.py --seeds {given.seeds}`, without validation."
    save_page("elmfs-claims", "\n".join([head, "", made, "", *section]).rstrip() + "\n")


if __name__ == "__main__":
    main()
