"""Frénay et al. (2012), "Feature selection for nonlinear models with extreme learning machines".

Figures 5 to 12 and tables 1 and 2: feature selection paths of LARS, MI-FW, MI-FWBW and ELM-FS, the
SET curve of ELM-FS, and test errors of all four by one evaluator (OP-ELM with one pool of neurons),
on two artificial and four real data sets. Then the claims on subsets over several seeds.

    python experiments/elmfs.py            # stated subsets, a few minutes on one core
    python experiments/elmfs.py --full     # 100 restarts, more sizes, 20 seeds; an hour

Writes docs/results/elmfs.md and elmfs-*.png beside it. With --parts FOLDER every finished part is
stored there and a run that was ended goes on; with --minutes no part is begun after that time and
the page is made of what there is.
"""

import argparse
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np

import sparsepath
from elmfs_claims import (
    ABOUT,
    ANTHROKIDS,
    POLAND,
    RIVALS,
    SANTA_FE,
    STRATEGIES,
    agreement,
    claims,
    errors_over_seeds,
    every_size,
)
from elmfs_problems import PROBLEMS, Parts, Problem, called
from results import PAGES
from sparsepath import (
    ELMFSRegressor,
    LarsSelector,
    MutualInfoSelector,
    OPELMRegressor,
    compare_paths,
)
from sparsepath.errors import FileError
from sparsepath.path.selection_path import SelectionPath

METHODS = ("LARS", "MI-FW", "MI-FWBW", "ELM-FS")


def selectors(
    size: int | None, every: int, restarts: int, climbs: int, k: int | str, seed: int
) -> dict[str, Any]:
    return {
        "LARS": LarsSelector(size, choose="min"),
        "MI-FW": MutualInfoSelector(size, n_neighbors=k, random_state=seed, n_threads=1),
        "MI-FWBW": MutualInfoSelector(
            size,
            search="forward-backward",
            n_neighbors=k,
            n_restarts=climbs,
            random_state=seed,
            n_threads=1,
        ),
        "ELM-FS": ELMFSRegressor(
            size or every, n_restarts=restarts, random_state=seed, n_threads=1, validation=None
        ),
    }


def run(problem: Problem, full: bool, seed: int = 0) -> list[str]:
    """All four methods on one problem: a picture and a section of the page."""
    data = problem.split(seed)
    size = problem.full_size if full else problem.quick_size
    restarts, climbs, k = (100, problem.climbs, "resampling") if full else (20, 5, 6)
    judge = OPELMRegressor(100, random_state=seed, reach=np.inf)
    paths: dict[str, SelectionPath] = {}
    seconds: dict[str, float] = {}
    for method, selector in selectors(size, every_size(data), restarts, climbs, k, seed).items():
        if method == "MI-FWBW":  # the same number of neighbours, chosen once
            selector.set_params(n_neighbors=paths["MI-FW"].parameters["n_neighbors"])
        start = time.process_time()
        paths[method] = selector.fit(data.X, data.y).path_
        names = tuple(str(i + 1) for i in range(data.X.shape[1]))
        paths[method] = paths[method].replaced(feature_names=names)
        seconds[method] = time.process_time() - start
        if method == "ELM-FS":
            own = {
                k: float(np.square(selector.at_size(k).predict(data.X_test) - data.y_test).mean())
                for k in paths[method].sizes
            }
        print(f"{problem.title}: {method} {seconds[method]:.1f} s", flush=True)
    found = compare_paths(paths, judge, data.X, data.y, data.X_test, data.y_test)
    figure = found.plot(curves=("ELM-FS",))
    figure.savefig(PAGES / f"elmfs-{problem.key}.png", dpi=80)
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
        "CPU seconds: " + ", ".join(f"{method} {seconds[method]:.2f}" for method in METHODS) + ".",
        f"Least SET at size {paths['ELM-FS'].choose('min')}, one-standard-error rule: size "
        f"{paths['ELM-FS'].choose('one_se')}.",
        "",
    ]
    return lines


def figures(parts: Parts, full: bool) -> list[str]:
    lines: list[str] = []
    for problem in PROBLEMS:
        try:
            part = parts.get(f"figure-{problem.key}-{full}", lambda p=problem: run(p, full))
        except FileError as error:
            part = [f"## {problem.title}", "", f"Left out: {error}", ""]
        lines += part or [f"## {problem.title}", "", "Left out: no time was left for it.", ""]
    return lines


def over_seeds(parts: Parts, full: bool) -> dict[str, list[str]]:
    """The sections on several seeds, by their place on the page; the cheap and asked for first."""
    seeds, restarts = (20, 100) if full else (3, 20)
    claims(parts, ("both",), seeds, restarts)
    sections = {
        "errors": ["## Errors over seeds", ""],
        "agreement": agreement(parts, 15 if full else 5, 5 if full else 2, restarts),
    }
    for problem in ABOUT:
        rivals = RIVALS if problem is SANTA_FE else ()  # for the others the pictures will do
        sections["errors"] += errors_over_seeds(
            parts, problem, seeds, restarts, problem.claims_size, rivals
        )
    sections["figures"] = figures(parts, full)
    wide = (POLAND, ANTHROKIDS) if full else ()
    for first in (6, seeds):  # a few of the long runs, then what was not asked for, then the others
        more = [errors_over_seeds(parts, p, first, restarts, p.splits_size) for p in wide]
        sections["claims"] = claims(parts, STRATEGIES, seeds, restarts)
    sections["errors"] += [line for section in more for line in section]
    return sections


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="100 restarts, 20 seeds, more sizes")
    parser.add_argument("--parts", type=Path, help="where to store finished parts")
    parser.add_argument("--minutes", type=float, default=np.inf, help="begin no part after that")
    arguments = parser.parse_args()
    PAGES.mkdir(parents=True, exist_ok=True)
    parts = Parts(arguments.parts, arguments.minutes)
    sections = over_seeds(parts, arguments.full)
    command = "python experiments/elmfs.py" + " --full" * arguments.full
    header = [
        "# ELM-FS: the paper's figures and claims, measured",
        "",
        f"Made by `{command}` with sparsepath {sparsepath.__version__}, Python",
        f"{platform.python_version()}, one thread on a busy two-core machine. Features are counted",
        "from 1, as in the paper. SET is the leave-one-out error, which the search minimised. Test",
        "errors are squared errors on data that no method has seen, of one OP-ELM of 100 neurons",
        "refitted on every subset, so equal subsets have equal test errors; ELM-FS's own is the test",
        "error of the scaled machine that earned the SET value. The artificial problems have noise of",
        "standard deviation 0.1, real targets are standardised. Seconds are CPU seconds. What of the",
        "paper holds is said on [the page of the method](../methods/elmfs.md#what-of-the-paper-holds).",
        "",
    ]
    order = ("claims", "errors", "agreement", "figures")
    page = [*header, *(line for name in order for line in sections[name])]
    (PAGES / "elmfs.md").write_text("\n".join(page), encoding="utf-8")
    print("written", flush=True)


if __name__ == "__main__":
    main()
