"""Frénay et al. (2012), "Feature selection for nonlinear models with extreme learning machines".

Figures 5 to 12 and tables 1 and 2: feature selection paths of LARS, MI-FW, MI-FWBW, the paper's
Algorithm 1 and ELM-FS with its default search, the SET curves of the last two, and test errors of
all five by one evaluator (OP-ELM with one pool of neurons), on two artificial and four real data
sets. Then the statements of the paper, and the subsets that it names over several seeds.

    python experiments/elmfs.py            # fewer restarts, sizes and seeds: minutes
    python experiments/elmfs.py --full     # as on the page: 100 restarts, all sizes
    python experiments/elmfs.py --tiny     # one problem, for a test: seconds

Writes docs/results/elmfs.md and elmfs-*.png. With --parts FOLDER every finished part is stored
there, and an interrupted run resumes; with --minutes no part starts after that time, and the page
contains the finished parts.
"""

import argparse
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from elmfs_claims import ABOUT, RIVALS, agreement, claims, errors_over_seeds
from elmfs_problems import PROBLEMS, Parts, Problem, called
from elmfs_statements import statements
from results import PAGES, save_page
from sparsepath import (
    ELMFSRegressor,
    LarsSelector,
    MutualInfoSelector,
    OPELMRegressor,
    compare_paths,
)
from sparsepath.errors import FileError
from sparsepath.path.selection_path import SelectionPath

MACHINES = ("Algorithm 1", "ELM-FS")
METHODS = ("LARS", "MI-FW", "MI-FWBW", *MACHINES)


@dataclass(frozen=True)
class Plan:
    """How much is computed."""

    option: str
    restarts: int = 100
    climbs: int = 100  # of MI-FWBW, at most
    n_neighbors: int | str = "resampling"
    seeds: int = 10
    every_size: bool = True
    problems: tuple[Problem, ...] = tuple(PROBLEMS)
    reduced: str = ""  # the key of a problem whose figure is by the quick plan

    def of(self, problem: Problem) -> "Plan":
        """The plan for the figure of a problem."""
        return QUICK if problem.key == self.reduced else self


QUICK = Plan("", restarts=20, climbs=5, n_neighbors=6, seeds=3, every_size=False)
FULL = Plan(" --full")
TINY = Plan(" --tiny", restarts=2, climbs=1, n_neighbors=6, seeds=1, problems=(PROBLEMS[0],))


def selectors(size: int, plan: Plan, climbs: int, seed: int) -> dict[str, Any]:
    machines: Any = {"n_restarts": plan.restarts, "validation": None}
    mutual: Any = {"n_neighbors": plan.n_neighbors}
    once: Any = {"random_state": seed, "n_threads": 1}
    return {
        "LARS": LarsSelector(size, choose="min"),
        "MI-FW": MutualInfoSelector(size, **mutual, **once),
        "MI-FWBW": MutualInfoSelector(size, search="forward-backward", n_restarts=climbs, **once),
        "Algorithm 1": ELMFSRegressor(size, strategy="scaling", **machines, **once),
        "ELM-FS": ELMFSRegressor(size, **machines, **once),
    }


def timed(selector: Any, X: Any, y: Any) -> tuple[SelectionPath, float]:
    start = time.process_time()
    path: SelectionPath = selector.fit(X, y).path_
    return path, time.process_time() - start


def run(problem: Problem, plan: Plan, seed: int = 0) -> dict[str, Any]:
    """All methods on one problem: a picture, subsets, errors and seconds."""
    data = problem.split(seed)
    most = data.X.shape[1]
    size = most if plan.every_size else min(problem.quick_size or most, most)
    climbs = min(problem.climbs, plan.climbs)
    paths: dict[str, SelectionPath] = {}
    seconds: dict[str, float] = {}
    own: dict[str, list[float]] = {}
    names = tuple(str(i + 1) for i in range(most))
    for method, selector in selectors(size, plan, climbs, seed).items():
        if method == "MI-FWBW":  # the same number of neighbours, chosen once
            selector.set_params(n_neighbors=paths["MI-FW"].parameters["n_neighbors"])
        path, seconds[method] = timed(selector, data.X, data.y)
        paths[method] = path.replaced(feature_names=names)
        if method == "MI-FWBW":  # its time includes the choice of the number, as in the paper
            known = MutualInfoSelector(
                size, n_neighbors=selector.n_neighbors, random_state=seed, n_threads=1
            )
            seconds[method] += max(0.0, seconds["MI-FW"] - timed(known, data.X, data.y)[1])
        if method in MACHINES:
            own[method] = [
                float(np.square(selector.at_size(k).predict(data.X_test) - data.y_test).mean())
                for k in path.sizes[1:]
            ]
        print(f"{problem.title}: {method} {seconds[method]:.1f} s", flush=True)
    judge = OPELMRegressor(100, random_state=seed, reach=np.inf)
    found = compare_paths(paths, judge, data.X, data.y, data.X_test, data.y_test)
    PAGES.mkdir(parents=True, exist_ok=True)
    figure = found.plot(curves=MACHINES)
    figure.savefig(PAGES / f"elmfs-{problem.key}.png", dpi=80)
    return {
        "rows": [len(data.y), len(data.y_test), most],
        "size": size,
        "climbs": climbs,
        "k": paths["MI-FW"].parameters["n_neighbors"],
        "subsets": {
            m: {str(k): [int(i) for i in p.subset(k)] for k in p.sizes[1:]}
            for m, p in paths.items()
        },
        "SET": {m: [float(paths[m].error(k)) for k in paths[m].sizes[1:]] for m in own},
        "one_se": {m: int(paths[m].choose("one_se")) for m in own},
        "own": own,
        "tested": {
            m: {str(k): float(p.error(k)) for k in p.sizes[1:]} for m, p in found.judged.items()
        },
        "seconds": seconds,
    }


def figure_section(problem: Problem, plan: Plan, found: dict[str, Any] | None) -> list[str]:
    """The section of a figure."""
    if found is None:
        return [f"## {problem.title}", "", "Not run: not enough time.", ""]
    if "left out" in found:
        return [f"## {problem.title}", "", f"Not run: {found['left out']}", ""]
    train, test, features = found["rows"]
    heads = ["size", *METHODS, "SET: Algorithm 1", "SET: ELM-FS", *(f"test: {m}" for m in METHODS)]
    lines = [
        f"## {problem.title} (figure {problem.figure})",
        "",
        f"{train} training samples, {test} test samples, {features} features; sizes up to {found['size']}; "
        f"{plan.of(problem).restarts} restarts of Algorithm 1 and ELM-FS, {found['climbs']} of MI-FWBW; "
        f"k = {found['k']}; seed 0.",
        "",
        f"![paths and errors](elmfs-{problem.key}.png)",
        "",
        "| " + " | ".join([*heads, "own: Algorithm 1", "own: ELM-FS"]) + " |",
        "|" + "---|" * (len(heads) + 2),
    ]
    for k in range(1, found["size"] + 1):
        sets = (found["subsets"][m].get(str(k)) for m in METHODS)
        tests = (found["tested"][m].get(str(k)) for m in METHODS)
        cells = [
            *("" if s is None else called(s) for s in sets),
            *(_of(found["SET"][m], k) for m in found["SET"]),
            *("" if t is None else f"{t:.4g}" for t in tests),
            *(_of(found["own"][m], k) for m in found["own"]),
        ]
        lines.append(f"| {k} | " + " | ".join(cells) + " |")
    for m, errors in found["SET"].items():
        lines += [
            "",
            f"{m}: SET is lowest at size {int(np.argmin(errors)) + 1}; the one-standard-error rule "
            f"chooses size {found['one_se'][m]}.",
        ]
    return [*lines, ""]


def _of(errors: list[float], size: int) -> str:
    return f"{errors[size - 1]:.4g}" if size <= len(errors) else ""


def figures(parts: Parts, plan: Plan, problems: tuple[Problem, ...]) -> dict[str, Any]:
    """The parts of figures, by problem."""
    found: dict[str, Any] = {}
    for problem in problems:
        try:
            own = plan.of(problem)
            name = f"figure-{problem.key}{own.option}".replace(" --", "-")
            found[problem.key] = parts.get(name, lambda p=problem, own=own: run(p, own))
        except FileError as error:
            found[problem.key] = {"left out": str(error)}
    return found


def sections(parts: Parts, plan: Plan) -> list[str]:
    """The page without its introduction."""
    about = tuple(problem for problem in ABOUT if problem in plan.problems)
    figures(parts, plan, about)  # those of 53 features take the longest, and come last
    text = claims(parts, ("both", "scaling"), plan.seeds, plan.restarts, about)
    errors = ["## Errors over seeds", ""]
    for problem in about:
        rivals = RIVALS if problem.rivals else ()  # for the others the figures are enough
        of = parts, problem, plan.seeds, plan.restarts, problem.claims_size, rivals
        errors += errors_over_seeds(*of)
    wide = agreement(parts, 15, 3, plan.restarts) if plan.option == FULL.option else []
    drawn = figures(parts, plan, plan.problems)
    pictures = [line for p in plan.problems for line in figure_section(p, plan, drawn.get(p.key))]
    known = {key: found for key, found in drawn.items() if found and "left out" not in found}
    return [*statements(known), *text, *errors, *wide, *pictures]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="100 restarts, all sizes")
    parser.add_argument("--tiny", action="store_true", help="one problem, for a test")
    parser.add_argument("--seeds", type=int, help="seeds for the claims")
    parser.add_argument("--reduced", default="", help="a problem whose figure is not in full")
    parser.add_argument("--parts", type=Path, help="where to store finished parts")
    parser.add_argument(
        "--minutes", type=float, default=np.inf, help="start no part after this time"
    )
    given = parser.parse_args()
    plan = FULL if given.full else TINY if given.tiny else QUICK
    command = f"python experiments/elmfs.py{plan.option}"
    if given.seeds is not None:
        plan, command = replace(plan, seeds=given.seeds), f"{command} --seeds {given.seeds}"
    if given.reduced:
        plan = replace(plan, reduced=given.reduced)
        command = f"{command} --reduced {given.reduced}"
    parts = Parts(given.parts, given.minutes)
    header = [
        "# ELM-FS: the paper's figures and statements",
        "",
        f"Written by `{command}`. [Protocol](#protocol) explains the terms and columns.",
        "",
    ]
    protocol = """## Protocol

Features are counted from 1, as in the paper. *Algorithm 1* is the paper's search (`strategy="scaling"`), *ELM-FS* the default search of `ELMFSRegressor`. SET is the leave-one-out
error, which the search minimised. Test errors are squared errors on data that no method has seen, of one OP-ELM of 100 neurons refitted on every subset, so that equal subsets have
equal test errors; *own* is the test error of the scaled machine that has the SET value. The artificial problems have noise of standard deviation 0.1; real targets are standardised.
Some constants of the search were tuned on these splits, so the rates for diabetes are slightly optimistic. Seconds are CPU seconds of one thread on a busy machine.
"""
    save_page("elmfs", "\n".join([*header, *sections(parts, plan), protocol]))


if __name__ == "__main__":
    main()
