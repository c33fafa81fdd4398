"""Frénay et al. (2012), "Feature selection for nonlinear models with extreme learning machines".

Figures 5 to 12 and tables 1 and 2: feature selection paths of LARS, MI-FW, MI-FWBW and ELM-FS, the
SET curve of ELM-FS, and test errors of all four by one evaluator (OP-ELM with one pool of neurons),
on two artificial and four real data sets. Then the claims on subsets over several seeds.

    python experiments/elmfs.py            # stated subsets, a few minutes on one core
    python experiments/elmfs.py --full     # 100 restarts, more sizes, 20 seeds; half an hour

Writes docs/results/elmfs.md and elmfs-*.png beside it.
"""

import argparse
import platform
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np

import sparsepath
from sparsepath import ELMFSRegressor, LarsSelector, MutualInfoSelector, OPELMRegressor, compare
from sparsepath.data.paper_sets import load
from sparsepath.data.synthetic import functional, xor_like
from sparsepath.errors import FileError
from sparsepath.path import SelectionPath

METHODS = ("LARS", "MI-FW", "MI-FWBW", "ELM-FS")
RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"


@dataclass(frozen=True)
class Split:
    """Training and test data; features are counted from 1, as in the paper."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any
    names: list[str]


def artificial(make: Callable[..., Any]) -> Callable[[int], Split]:
    def split(seed: int) -> Split:
        p = make(10_000, random_state=seed)
        names = [str(i + 1) for i in range(p.X.shape[1])]
        return Split(p.X[:1000], p.y[:1000], p.X[1000:], p.y[1000:], names)

    return split


def real(name: str) -> Callable[[int], Split]:
    """70 % to train, drawn by the seed; Santa Fe: its first 1000 rows. Targets are standardised."""

    def split(seed: int) -> Split:
        data = load(name)
        X, y = np.asarray(data.X, float), np.asarray(data.y, float)
        if name.startswith("poland"):
            X, y = X[data.split == "train"], y[data.split == "train"]
        if name.startswith("santafe"):
            train, test = np.arange(1000), np.arange(1000, len(y))
        else:
            order = np.random.default_rng(seed).permutation(len(y))
            train, test = np.split(order, [round(0.7 * len(y))])
        y = (y - y[train].mean()) / y[train].std()
        return Split(X[train], y[train], X[test], y[test], list(data.names))

    return split


@dataclass(frozen=True)
class Problem:
    key: str
    title: str
    figure: str
    split: Callable[[int], Split]
    quick_size: int | None  # the largest subset of a default run; None: all
    claims_size: int | None = None  # the largest subset when claims are counted; None: all
    full_size: int | None = None  # the largest subset of a full run; None: all
    climbs: int = 100  # of MI-FWBW in a full run
    neighbors: int | str = "resampling"  # k of mutual information in a full run


PROBLEMS = [
    Problem("xor", "XOR-like", "5", artificial(xor_like), None),
    Problem("functional", "Functional", "6", artificial(functional), None),
    Problem("diabetes", "Diabetes", "7", real("diabetes"), None),
    Problem("poland", "Poland electricity", "8", real("poland_electricity_lag30"), 8, 3, 10, 20),
    Problem("santafe", "Santa Fe laser", "9", real("santafe_laser_lag12"), 8, 4),
    Problem(
        "anthrokids", "Anthrokids (a reconstruction)", "10-12", real("anthrokids"), 9, None, 20, 20
    ),
]


def selectors(
    size: int | None, restarts: int, climbs: int, k: int | str, seed: int
) -> dict[str, Any]:
    return {
        "LARS": LarsSelector(size, choose="min"),
        "MI-FW": MutualInfoSelector(size, n_neighbors=k, random_state=seed),
        "MI-FWBW": MutualInfoSelector(
            size,
            search="forward-backward",
            n_neighbors=k,
            n_restarts=climbs,
            random_state=seed,
        ),
        "ELM-FS": ELMFSRegressor(size, n_restarts=restarts, random_state=seed),
    }


def run(problem: Problem, full: bool, seed: int = 0) -> list[str]:
    """All four methods on one problem: a picture and a section of the page."""
    data = problem.split(seed)
    size = problem.full_size if full else problem.quick_size
    restarts, climbs, k = (100, problem.climbs, problem.neighbors) if full else (20, 5, 6)
    judge = OPELMRegressor(100, random_state=seed)
    paths: dict[str, SelectionPath] = {}
    seconds: dict[str, float] = {}
    for method, selector in selectors(size, restarts, climbs, k, seed).items():
        if method == "MI-FWBW":  # the same number of neighbours, chosen once
            selector.set_params(n_neighbors=paths["MI-FW"].parameters["n_neighbors"])
        start = time.perf_counter()
        paths[method] = selector.fit(data.X, data.y).path_
        paths[method].feature_names = tuple(str(i + 1) for i in range(data.X.shape[1]))
        seconds[method] = time.perf_counter() - start
        if method == "ELM-FS":
            own = {
                k: float(np.square(selector.at_size(k).predict(data.X_test) - data.y_test).mean())
                for k in paths[method].sizes
            }
        print(f"{problem.title}: {method} {seconds[method]:.1f} s", flush=True)
    found = compare(paths, judge, data.X, data.y, data.X_test, data.y_test)
    figure = found.plot(curves=("ELM-FS",))
    figure.savefig(RESULTS / f"elmfs-{problem.key}.png", dpi=80)
    judged = found.judged
    sizes = [k for k in paths["ELM-FS"].sizes if k]
    lines = [
        f"## {problem.title} (figure {problem.figure})",
        "",
        f"{len(data.y)} samples to train, {len(data.y_test)} to test, {len(data.names)} features; "
        f"sizes up to {max(sizes)}; {restarts} restarts of ELM-FS, {climbs} of MI-FWBW; "
        f"k = {paths['MI-FW'].parameters['n_neighbors']}; seed {seed}.",
        "",
        f"![paths and errors](elmfs-{problem.key}.png)",
        "",
        "| size | "
        + " | ".join(METHODS)
        + " | SET | test: "
        + " | ".join(METHODS)
        + " | ELM-FS's own |",
        "|" + "---|" * (3 + 2 * len(METHODS)),
    ]
    for k in sizes:
        subsets, errors = [], []
        for method in METHODS:
            there = k in paths[method].sizes
            subsets.append(called(paths[method].subset(k)) if there else "")
            errors.append(f"{judged[method].error(k):.4g}" if there else "")
        SET = f"{paths['ELM-FS'].error(k):.4g}"
        lines.append(" | ".join([f"| {k}", *subsets, SET, *errors, f"{own[k]:.4g} |"]))
    lines += [
        "",
        "Seconds: " + ", ".join(f"{method} {seconds[method]:.2f}" for method in METHODS) + ".",
        f"Least SET at size {paths['ELM-FS'].choose('min')}, one-standard-error rule: size "
        f"{paths['ELM-FS'].choose('one_se')}.",
        "",
    ]
    return lines


def called(subset: tuple[int, ...]) -> str:
    """Columns counted from 1, ascending, as the paper names them; long sets are cut."""
    text = ", ".join(str(i + 1) for i in sorted(subset)[:10])
    return "{" + text + ("...}" if len(subset) > 10 else "}")


CLAIMS: list[tuple[str, Problem, str, Callable[[SelectionPath], bool]]] = []


def _has(path: SelectionPath, size: int, *columns: int) -> bool:
    """Whether the best subset of a size is this one, columns counted from 1."""
    return size in path.sizes and {i + 1 for i in path.subset(size)} == set(columns)


CLAIMS += [
    (
        "{1}, {2,3}, {1,2,3}",
        PROBLEMS[0],
        "all",
        lambda p: _has(p, 1, 1) and _has(p, 2, 2, 3) and _has(p, 3, 1, 2, 3),
    ),
    ("least SET at 3", PROBLEMS[0], "all", lambda p: p.choose("min") == 3),
    ("{1..5} at size 5", PROBLEMS[1], "95 %", lambda p: _has(p, 5, 1, 2, 3, 4, 5)),
    (
        "and least SET there",
        PROBLEMS[1],
        "95 %",
        lambda p: _has(p, 5, 1, 2, 3, 4, 5) and p.choose("min") == 5,
    ),
    ("{bmi, s5} at size 2", PROBLEMS[2], "all", lambda p: _has(p, 2, 3, 9)),
    ("{bmi, bp, s5} at size 3", PROBLEMS[2], "90 %", lambda p: _has(p, 3, 3, 4, 9)),
    ("{7}, {1,7}", PROBLEMS[3], "all", lambda p: _has(p, 1, 7) and _has(p, 2, 1, 7)),
    ("{1,7,8} at size 3", PROBLEMS[3], "", lambda p: _has(p, 3, 1, 7, 8)),
    ("{1,2} at size 2", PROBLEMS[4], "all", lambda p: _has(p, 2, 1, 2)),
    ("{1,2,8} at size 3", PROBLEMS[4], "all", lambda p: _has(p, 3, 1, 2, 8)),
]


def claims(seeds: int, restarts: int) -> Iterator[list[str]]:
    """How often the subsets that the paper names come out; seeds vary data, neurons and starts.

    Yields a section after each problem, so that nothing is lost if the run is ended.
    """
    found: dict[tuple[str, str], list[SelectionPath]] = {}
    about = [p for p in PROBLEMS if p.key in {claim[1].key for claim in CLAIMS}]
    for strategy in ("both", "swap", "scaling"):
        for problem in about:
            start = time.perf_counter()
            for seed in range(seeds):
                data = problem.split(seed)
                model = ELMFSRegressor(
                    problem.claims_size, strategy=strategy, n_restarts=restarts, random_state=seed
                )
                path = model.fit(data.X, data.y).path_
                found.setdefault((problem.key, strategy), []).append(path)
            took = (time.perf_counter() - start) / seeds
            counts = [
                f"{text}: {sum(map(holds, found[problem.key, strategy]))}"
                for text, claimed, _, holds in CLAIMS
                if claimed is problem
            ]
            print(f"claims {problem.title} {strategy}: {took:.2f} s per seed", counts, flush=True)
            yield counted(found, seeds, restarts)


def counted(
    found: dict[tuple[str, str], list[SelectionPath]], seeds: int, restarts: int
) -> list[str]:
    """The section on the claims, of the strategies there are so far."""
    strategies = [s for s in ("both", "swap", "scaling") if (PROBLEMS[0].key, s) in found]
    lines = [
        "## Claims over seeds",
        "",
        f"ELM-FS with its defaults but {restarts} restarts; {seeds} seeds, each of which draws the",
        "data (or the 70/30 split; for Santa Fe the split is fixed), the neurons and the starts.",
        "",
        "| problem | claim | asked | " + " | ".join(f"strategy {s}" for s in strategies) + " |",
        "|---|---|---|" + "---|" * len(strategies),
    ]
    for text, problem, asked, holds in CLAIMS:
        counts = [
            f"{sum(map(holds, found[problem.key, s]))} of {seeds}"
            if (problem.key, s) in found
            else ""
            for s in strategies
        ]
        lines.append(f"| {problem.title} | {text} | {asked} | " + " | ".join(counts) + " |")
    medians = []
    for problem in PROBLEMS[:3]:
        paths = found.get((problem.key, "both"), [])
        if not paths:
            continue
        errors = np.median([[path.error(k) for k in paths[0].sizes[1:]] for path in paths], axis=0)
        medians.append(f"{problem.title}: " + " ".join(f"{e:.3g}" for e in errors))
    return [*lines, "", "Median SET by size, strategy both. " + "; ".join(medians) + ".", ""]


def agreement(size: int, seeds: int) -> list[str]:
    """How far the subsets of different seeds of the neurons and starts agree on 53 features."""
    data = PROBLEMS[5].split(0)
    start = time.perf_counter()
    paths = [
        ELMFSRegressor(size, random_state=seed).fit(data.X, data.y).path_ for seed in range(seeds)
    ]
    minutes = (time.perf_counter() - start) / 60
    lines = [
        "## Agreement between seeds (anthrokids)",
        "",
        f"ELM-FS with its defaults on 53 features, sizes 1 to {size}, {seeds} seeds of neurons and "
        f"starts on one split, {minutes / seeds:.1f} minutes each: the part of a subset that "
        "another seed",
        "has too, mean over pairs of seeds (by chance: size / 53), and the features that all have.",
        "",
        "| size | in common | by chance | in all | SET, least to largest |",
        "|---|---|---|---|---|",
    ]
    for k in range(1, size + 1):
        subsets = [set(path.subset(k)) for path in paths]
        shared = [len(a & b) / k for a, b in combinations(subsets, 2)]
        errors = [path.error(k) for path in paths]
        lines.append(
            f"| {k} | {np.mean(shared):.2f} | {k / 53:.2f} | "
            f"{called(tuple(set.intersection(*subsets)))} | "
            f"{min(errors):.4g} to {max(errors):.4g} |"
        )
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="100 restarts, 20 seeds, more sizes")
    parser.add_argument("--seeds", type=int, help="seeds of the claims (default 3, full 20)")
    parser.add_argument("--restarts", type=int, help="of the claims (default 30, full 100)")
    parser.add_argument("--skip-figures", action="store_true", help="only the claims")
    parser.add_argument("--skip-claims", action="store_true", help="only the figures")
    arguments = parser.parse_args()
    full = arguments.full
    RESULTS.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    sections: list[str] = []
    for problem in [] if arguments.skip_figures else PROBLEMS:
        try:
            sections += run(problem, full)
        except FileError as error:
            sections += [f"## {problem.title}", "", f"Left out: {error}", ""]
    if not arguments.skip_figures:
        with suppress(FileError):  # said above
            sections += agreement(9 if full else 5, 3 if full else 2)
    seeds = arguments.seeds or (20 if full else 3)
    restarts = arguments.restarts or (100 if full else 20)
    page = RESULTS / ("elmfs-claims.md" if arguments.skip_figures else "elmfs.md")
    command = " ".join(["python experiments/elmfs.py", *sys.argv[1:]])
    # Written again as the claims come in; first without any.
    for counts in chain([[]], [] if arguments.skip_claims else claims(seeds, restarts)):
        minutes = (time.perf_counter() - start) / 60
        header = [
            "# ELM-FS: the paper's figures and claims, measured",
            "",
            f"Made by `{command}` with sparsepath {sparsepath.__version__}, Python "
            f"{platform.python_version()}, in {minutes:.0f} minutes on a busy two-core machine.",
            "Features are counted from 1, as in the paper. Test errors are those of one OP-ELM of",
            "100 neurons refitted on every subset, so equal subsets have equal test errors; the",
            "last column is the test error of the scaled machine that earned the SET value. The",
            "artificial problems have noise of standard deviation 0.1, real targets are",
            "standardised.",
            "",
        ]
        page.write_text("\n".join([*header, *counts, *sections]), encoding="utf-8")
        print(f"wrote {page}", flush=True)


if __name__ == "__main__":
    main()
