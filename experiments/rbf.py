"""Paper 003, "Simultaneous input variable and basis function selection for RBF networks".

Figures 2 to 6, Tables 2 and 3 and running times, on stated subsets:  python experiments/rbf.py
All seeds, splits and grid nodes of the paper (hours):  python experiments/rbf.py --full
"""

import argparse
import time
import warnings

import numpy as np
from matplotlib.figure import Figure

from results import save_figure, save_page, table
from sparsepath import (
    LSSVMForwardRegressor,
    LSSVMRegressor,
    PathWarning,
    ReducedRankKernelRidge,
    SparseRBFRegressor,
    SparseRBFRegressorCV,
)
from sparsepath.data.paper_sets import available, load
from sparsepath.data.synthetic import bump, friedman
from sparsepath.rbf.plots import plot_weights

PROBLEMS = {15: (bump, 5.95, 4.67), 16: (friedman, 380.0, 0.13)}
# Table 1: rows to train with, and the ranges of r and t.
SETS = {
    "boston_housing": ("Boston housing", 400, (20, 400), (0.05, 5)),
    "wine_spectra": ("Wine", 94, (20, 300), (1e-3, 0.05)),
    "bank32nh": ("Bank (32nh)", 250, (1, 100), (0.01, 3)),
}
PAPER = {  # Table 2, test errors, and Table 3, inputs and basis functions
    "boston_housing": {"LS-SVM": ".14 (13, 400)", "LS-SVM with FS": ".12 (11, 400)",
                       "RRKRR": ".14 (13, 343)", "sparse RRKRR": ".12 (11, 319)",
                       "Algorithm 1": ".15 (12, 152)", "Algorithm 2": ".18 (13, 227)"},
    "wine_spectra": {"LS-SVM": ".0039 (256, 94)", "LS-SVM with FS": ".0055 (74, 94)",
                     "RRKRR": ".0030 (256, 41)", "sparse RRKRR": ".0020 (74, 63)",
                     "Algorithm 1": ".0047 (13, 94)", "Algorithm 2": ".0039 (19, 94)"},
    "bank32nh": {"LS-SVM": ".27 (32, 250)", "LS-SVM with FS": ".30 (11, 250)",
                 "RRKRR": ".28 (32, 149)", "sparse RRKRR": ".30 (11, 222)",
                 "Algorithm 1": ".29 (16, 40)", "Algorithm 2": ".28 (16, 27)"},
}  # fmt: skip
WAYS = {
    "robust, direct": {},
    "robust, alternating": {"solver": "alternating"},
    "printed Algorithm 1": {"schedule": "paper"},
}


def spread(values, digits=4):
    return f"{np.mean(values):.{digits}f} ± {np.std(values, ddof=1):.{digits}f}"


def simulated(number, n_seeds, ways):
    """One of the two problems at the paper's budgets: a row per way of solving."""
    make, r, t = PROBLEMS[number]
    useful = 1 if number == 15 else 5
    rows, first = [], None
    for name in ways:
        found = []
        for seed in range(n_seeds):
            data, fresh = make(random_state=seed), make(1000, random_state=1000 + seed)
            began = time.process_time()
            model = SparseRBFRegressor(r, t, relevance=0, random_state=seed, **WAYS[name])
            model.fit(data.X, data.y)
            seconds = time.process_time() - began
            e = fresh.y - model.predict(fresh.X)
            share = model.feature_importances_
            above = int(np.sum(share > 0.01 * share.max()))
            found.append(
                [e.std(), model.objective_, len(model.coef_), share[:useful].sum(), above,
                 model.n_iter_, seconds]
            )  # fmt: skip
            if first is None:
                first = (model, data, fresh)
        std, J, bases, share, above, solves, seconds = np.transpose(found)
        rows.append(
            [name, spread(std), spread(J), spread(bases, 1), f"{share.mean():.3f}",
             f"{above.mean():.1f}", f"{solves.mean():.0f}", f"{np.median(seconds):.2f}"]
        )  # fmt: skip
    header = ["", "validation std", "J", "basis functions", "share of useful weights",
              "inputs > 1 %", "solves", "CPU s"]  # fmt: skip
    return table(header, rows), first


def figure_2(model, data):
    figure = Figure(figsize=(9, 5.5), layout="constrained")
    a, b, c, d = figure.subplots(2, 2).ravel()
    line = np.linspace(-2, 2, 400)
    X = np.zeros((400, data.X.shape[1]))
    X[:, 0] = line
    a.plot(data.X[:, 0], data.y, "k.", markersize=3)
    a.plot(line, (1 - line + 2 * line**2) * np.exp(-(line**4)), "k", label="target")
    a.plot(line, model.predict(X), color="#D55E00", label="network")
    a.legend()
    plot_weights(model.feature_importances_, ax=b)
    w = model.feature_weights_[model.selected_] / data.X.std(0)[model.selected_] ** 2
    for centre, alpha in zip(model.centres_, model.coef_, strict=True):
        D = w @ (X[:, model.selected_] - centre).T ** 2
        c.plot(line, alpha * np.exp(-D), linewidth=0.8)
    c.set_title("weighted basis functions", fontsize="small")
    d.stem(model.selected_centres_, np.abs(model.coef_), markerfmt=".", basefmt=" ")
    d.set(xlabel="centre", ylabel="|coefficient|")
    return save_figure(figure, "rbf_figure_2")


def figure_3(model, fresh):
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    a, b = figure.subplots(1, 2)
    a.plot(fresh.y, model.predict(fresh.X), "k.", markersize=2)
    a.plot(a.get_xlim(), a.get_xlim(), color="#D55E00", linewidth=0.8)
    a.set(xlabel="output", ylabel="estimate")
    plot_weights(model.feature_importances_, ax=b)
    return save_figure(figure, "rbf_figure_3")


def running_times(sizes, widths):
    """Figure 4: CPU seconds of the robust solver and of the printed one."""
    rows = []
    for n in sizes:
        row = [n]
        for d in widths:
            data = friedman(n, d, random_state=0)
            cell = []
            for name in ("robust, direct", "printed Algorithm 1"):
                began = time.process_time()
                model = SparseRBFRegressor(380.0, 0.13, relevance=0, **WAYS[name])
                model.fit(data.X, data.y)
                cell.append(f"{time.process_time() - began:.2f} ({model.n_iter_})")
            row.append(" / ".join(cell))
        rows.append(row)
    return table(["N", *[f"d = {d}" for d in widths]], rows)


def split_of(data, n_train, seed):
    if seed == 0 and data.split is not None:
        return np.flatnonzero(data.split == "train"), np.flatnonzero(data.split == "test")
    order = np.random.default_rng(seed).permutation(len(data.y))
    return order[:n_train], order[n_train:]


def compare(name, seed, n_grid, n_folds, most_inputs):
    """All methods on one split: test error over training and over test variance, sizes."""
    data = load(name)
    _, n_train, r_range, t_range = SETS[name]
    a, b = split_of(data, n_train, seed)
    X, y = data.X.astype(float), data.y.astype(float)
    rs, ts = np.geomspace(*r_range, n_grid), np.geomspace(*t_range, n_grid)
    network = SparseRBFRegressorCV(rs, ts, cv=n_folds).fit(X[a], y[a])
    turns = SparseRBFRegressor(network.r_, network.t_, solver="alternating").fit(X[a], y[a])
    machine = LSSVMRegressor().fit(X[a], y[a])
    forward = LSSVMForwardRegressor(most_inputs, sigma2=[10.0, 100.0]).fit(X[a], y[a])
    reduced = ReducedRankKernelRidge(sigma2=machine.sigma2_).fit(X[a], y[a])
    sparse = ReducedRankKernelRidge(sigma2=forward.sigma2_, columns=forward.selected_.tolist()).fit(
        X[a], y[a]
    )
    d = X.shape[1]
    sizes = {
        "LS-SVM": (machine, d, len(a)),
        "LS-SVM with FS": (forward, len(forward.selected_), len(a)),
        "RRKRR": (reduced, d, len(reduced.samples_)),
        "sparse RRKRR": (sparse, len(forward.selected_), len(sparse.samples_)),
        "Algorithm 1": (network, len(network.selected_), len(network.coef_)),
        "Algorithm 2": (turns, len(turns.selected_), len(turns.coef_)),
    }
    out = {}
    for method, (model, inputs, bases) in sizes.items():
        mse = np.mean((y[b] - model.predict(X[b])) ** 2)
        out[method] = (mse / y[a].var(), mse / y[b].var(), inputs, bases)
    return out, network, turns


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    full = parser.parse_args().full
    warnings.simplefilter("ignore", PathWarning)
    text = [
        "# RBF networks that select inputs and basis functions (paper 003)",
        "Written by `experiments/rbf.py`" + (" `--full`" if full else "") + ". Errors are those "
        "of standardised data unless a standard deviation is named, which is in original units.",
    ]
    seeds = {15: 10, 16: 10} if full else {15: 6, 16: 4}
    ways = {15: list(WAYS), 16: list(WAYS) if full else list(WAYS)[::2]}
    for number in (15, 16):
        shown, (model, data, fresh) = simulated(number, seeds[number], ways[number])
        _, r, t = PROBLEMS[number]
        text += [f"## Problem ({number}), r = {r}, t = {t}, seeds 0 to {seeds[number] - 1}", shown]
        text += [figure_2(model, data) if number == 15 else figure_3(model, fresh)]
        print(shown, flush=True)
    shown = running_times(
        *(((100, 250, 500, 1000), (10, 50, 100)) if full else ((100, 250), (10, 50)))
    )
    text += [
        "## Running times (Figure 4)",
        "CPU seconds (systems solved), r = 380, t = 0.13: robust / printed schedule, the latter "
        "with the slacks eliminated and matrix products too.",
        shown,
    ]
    print(shown, flush=True)
    n_splits = (
        dict.fromkeys(SETS, 10) if full else {"boston_housing": 4, "wine_spectra": 6, "bank32nh": 4}
    )
    n_grid, n_folds = (20, 10) if full else (4, 3)
    text += [
        "## Benchmarks (Tables 2 and 3)",
        f"A {n_grid} x {n_grid} grid over the ranges of Table 1, {n_folds} folds, least error. "
        "Median over splits of the test error over the training variance (over the test variance); "
        "then median numbers of inputs and basis functions. LS-SVM and RRKRR are tuned by exact "
        "leave-one-out, RRKRR at the width of the LS-SVM; forward selection goes to "
        + ("all inputs." if full else "8 inputs at most."),
    ]
    for name, (title, n_train, _, _) in SETS.items():
        if name not in available():
            text += [f"### {title}", "The file is not at hand (SPARSEPATH_DATA); not run."]
            continue
        runs = []
        for seed in range(n_splits[name]):
            out, network, turns = compare(name, seed, n_grid, n_folds, None if full else 8)
            runs.append(out)
            print(name, seed, {k: tuple(np.round(v, 4)) for k, v in out.items()}, flush=True)
        rows = []
        for method in runs[0]:
            a, b, inputs, bases = np.median([run[method] for run in runs], axis=0)
            each = ", ".join(f"{run[method][0]:.3g}" for run in runs)
            rows.append(
                [
                    method,
                    f"{a:.3g} ({b:.3g})",
                    each,
                    f"{inputs:g}",
                    f"{bases:g}",
                    PAPER[name][method],
                ]
            )
        header = [
            "",
            "test error",
            "each split",
            "inputs",
            "basis functions",
            "paper: test (inputs, bases)",
        ]
        text += [f"### {title}, {n_train} rows to train, {len(runs)} splits", table(header, rows)]
        if name == "bank32nh":
            figure = Figure(figsize=(10, 3.6), layout="constrained")
            left, right = figure.subplots(1, 2)
            network.plot_surface("error", ax=left)
            network.plot_surface("inputs", ax=right)
            text += [save_figure(figure, "rbf_figure_5")]
            figure = Figure(figsize=(10, 3.2), layout="constrained")
            left, right = figure.subplots(1, 2)
            network.plot_weights(left)
            turns.plot_weights(right)
            text += [save_figure(figure, "rbf_figure_6")]
    save_page("rbf", "\n\n".join(text) + "\n")


if __name__ == "__main__":
    main()
