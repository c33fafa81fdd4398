"""Tikka (2008), "Simultaneous input variable and basis function selection for RBF networks".

Figures 2 to 6, Tables 2 and 3 and running times:  python experiments/rbf.py

Writes docs/results/rbf.md, on the simulated problems, and docs/results/rbf-benchmarks.md. --only
writes one of them. With --parts FOLDER every finished part is kept there, and a later run resumes;
with --minutes N no further benchmark starts after that time. The pages say what was run. --tiny is
for a test: two data sets, and only one benchmark, of binary classification.
"""

import argparse
import pickle
import time
import warnings
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.linalg import eigh
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegressionCV, lars_path
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from paper_sets import available, load
from rbf_printed import PrintedRBFRegressor
from results import save_figure, save_page, table
from sparsepath import (
    LSSVMClassifier,
    LSSVMForwardRegressor,
    LSSVMRegressor,
    PathWarning,
    ReducedRankKernelRidge,
    SparseRBFClassifierCV,
    SparseRBFRegressor,
    SparseRBFRegressorCV,
)
from sparsepath.data.synthetic import bump, friedman
from sparsepath.rbf.barrier import Budget, InteriorPoint
from sparsepath.rbf.lasso import BudgetLasso
from sparsepath.rbf.model import RBFOptions, Trainer
from sparsepath.rbf.network import RBFNetwork, gaussians
from sparsepath.rbf.plots import plot_weights
from sparsepath.rbf.primal_dual import PrimalDual

PROBLEMS = {15: (bump, 5.95, 4.67), 16: (friedman, 380.0, 0.13)}
# Table 1: rows to train with, and the ranges of r and t; those of gamma and sigma2.
SETS = {
    "boston_housing": ("Boston housing", 400, (20, 400), (0.05, 5)),
    "wine_spectra": ("Wine", 94, (20, 300), (1e-3, 0.05)),
    "bank32nh": ("Bank (32nh)", 250, (1, 100), (0.01, 3)),
}
KERNELS = {
    "boston_housing": ((0.1, 1e4), (1, 1e4)),
    "wine_spectra": ((100, 1e8), (1e3, 1e9)),
    "bank32nh": ((1, 1e4), (10, 1e5)),
}
VALIDATION = {  # Table 2, validation errors
    "boston_housing": (".12", ".10", ".12", ".10", ".13", ".12"),
    "wine_spectra": (".0023", ".0006", ".0024", ".0019", ".0026", ".0041"),
    "bank32nh": (".31", ".21", ".31", ".21", ".26", ".25"),
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
    "robust, alternating, 1000 rounds, data sets 0 to 2": {
        "solver": "alternating",
        "max_iter": 1000,
    },
    "printed Algorithm 1": {},
    "printed Algorithm 2": {"solver": "alternating"},
}
N_SEEDS = 10
PRINTED_GRID, PRINTED_FOLDS = 20, 10  # of the paper, on split 0
PRINTED_INPUTS = 100  # forward selection goes no further; the paper's chooses 74
N_GRID, N_FOLDS = 5, 4  # on several splits
SURFACES = {15: ((1, 20), (0.5, 10)), 16: ((50, 1000), (0.02, 0.5))}  # ranges of r and t
N_TIMES = 5  # draws for the running times
N_SPLITS = {"boston_housing": 5, "wine_spectra": 8, "bank32nh": 5}
MOST_INPUTS = {"boston_housing": 13, "wine_spectra": 80, "bank32nh": 32}  # of forward selection
CLASS_SETS = {  # of two classes
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "australian": lambda: of_file("australian"),
    "german.numer": lambda: of_file("german_numer"),
    "digits 3, 8": lambda: two_of(load_digits(return_X_y=True), 3, 8),
    "digits 4, 9": lambda: two_of(load_digits(return_X_y=True), 4, 9),
    "wine 0, 1": lambda: two_of(load_wine(return_X_y=True), 0, 1),
    "iris 1, 2": lambda: two_of(load_iris(return_X_y=True), 1, 2),
    "sign of a product": lambda: product_of_two(),
}
N_CLASS_SPLITS, N_CLASS_TRAIN = 3, 150
PLAIN = {"centres": "all", "validation": None}  # one fit each, as the paper has it
PRINTED_UP_TO = 250  # samples, for the running time of the printed schedule


class Parts:
    """Finished parts of the experiment, in memory or in a folder."""

    def __init__(self, folder, minutes, seeds):
        self.folder, self.ends, self.seeds = folder, time.monotonic() + 60 * minutes, seeds
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def get(self, name, make):
        file = None if self.folder is None else self.folder / f"{name}.pickle"
        if file is not None and file.exists():
            return pickle.loads(file.read_bytes())
        part = make()
        if file is not None:
            file.write_bytes(pickle.dumps(part))
        print(f"done: {name}", flush=True)
        return part

    def has_time_for(self, name):
        known = self.folder is not None and (self.folder / f"{name}.pickle").exists()
        return known or time.monotonic() < self.ends


def spread(values, digits=4):
    return f"{np.mean(values):.{digits}f} ± {np.std(values, ddof=1):.{digits}f}"


def fitted_by(way):
    """The estimator that solves in this way."""
    return PrintedRBFRegressor if way.startswith("printed") else SparseRBFRegressor


def one_draw(number, way, seed):
    """One draw of a problem at the paper's budgets, solved in one way."""
    make, r, t = PROBLEMS[number]
    useful = 1 if number == 15 else 5
    data, fresh = make(random_state=seed), make(1000, random_state=1000 + seed)
    began = time.process_time()
    model = fitted_by(way)(r, t, relevance=0, random_state=seed, **PLAIN, **WAYS[way])
    model.fit(data.X, data.y)
    seconds = time.process_time() - began
    e = fresh.y - model.predict(fresh.X)
    share = model.feature_importances_
    above = int(np.sum(share > 0.01 * share.max()))
    return [e.std(), model.objective_, len(model.coef_), share[:useful].sum(), above,
            model.n_iter_, seconds]  # fmt: skip


def draws_of(number, parts):
    """By way of solving, the draws of one of the two problems at the paper's budgets."""
    found = {}
    for way in WAYS:
        count = min(3, parts.seeds) if "to 2" in way else parts.seeds
        found[way] = parts.get(
            f"problem-{number}-{way}",
            lambda way=way, count=count: [one_draw(number, way, seed) for seed in range(count)],
        )
    return found


def simulated(found):
    """One of the two problems: a row per way of solving."""
    rows = []
    for way, draws in found.items():
        std, J, bases, share, above, solves, seconds = np.transpose(draws)
        rows.append(
            [way, spread(std), spread(J), spread(bases, 1), f"{share.mean():.3f}",
             f"{above.mean():.1f}", f"{solves.mean():.0f}", f"{np.median(seconds):.2f}"]
        )  # fmt: skip
    header = ["", "validation std", "J", "basis functions", "share of useful weights",
              "inputs > 1 %", "systems", "CPU s"]  # fmt: skip
    return table(header, rows)


def statements(found, budgets):
    """Claims of the paper about the simulated problems, and the results."""
    means = {n: {way: np.mean(draws, axis=0) for way, draws in found[n].items()} for n in found}
    direct = {n: means[n]["robust, direct"] for n in means}
    first, second = ({n: means[n][f"printed Algorithm {i}"] for n in means} for i in (1, 2))
    return [
        f"- *Problem (15): error near the noise, one relevant input.* Holds: the grid finds a standard "
        f"deviation of {budgets[15][2]:.3g} (paper .17), and the relevant input has {direct[15][3]:.1%} of "
        "the weights.",
        f"- *Problem (16): error near the noise, the first five inputs.* Partly: {budgets[16][2]:.3g} "
        f"(paper 1.15), and {direct[16][3]:.1%} of the weights; {direct[16][4]:.1f} inputs have more than "
        "one per cent of the largest weight, because the two linear inputs weigh little.",
        f"- *21 basis functions on (15), two thirds of 250 on (16).* Does not hold for the optimum: "
        f"{direct[15][2]:.0f} and {direct[16][2]:.0f}.",
        "- *Algorithm 2 gives virtually the same result, slightly faster.* Partly: as printed, it has the same "
        f"error on (15) ({second[15][0]:.3g} and {first[15][0]:.3g}), a larger one on (16) "
        f"({second[16][0]:.3g} and {first[16][0]:.3g}), and solves {second[16][5] / first[16][5]:.1f} "
        "times as many systems there.",
        "- *The run time grows faster with samples than with inputs.* Holds, see the last section.",
    ]


def budgets_found(number, n_grid):
    """The paper's choice of r and t by a grid, evaluated on 1000 new samples; the network."""
    data, new = PROBLEMS[number][0](random_state=0), PROBLEMS[number][0](1000, random_state=1000)
    X, y = np.vstack([data.X, new.X]), np.concatenate([data.y, new.y])
    split = [(np.arange(len(data.y)), np.arange(len(data.y), len(y)))]
    rs, ts = (np.geomspace(*ends, n_grid) for ends in SURFACES[number])
    search = SparseRBFRegressorCV(
        rs, ts, cv=split, choose="min", relaxed=False, relevance=0, centres=data.X, validation=None
    ).fit(X, y)
    model = SparseRBFRegressor(search.r_, search.t_, relevance=0, **PLAIN).fit(data.X, data.y)
    return search.r_, search.t_, float((new.y - model.predict(new.X)).std())


def budgets_of(parts, n_grid):
    """By problem: r, t and the standard deviation that the grid finds."""
    return {
        number: parts.get(f"budgets-{number}-{n_grid}", lambda n=number: budgets_found(n, n_grid))
        for number in PROBLEMS
    }


def found_section(budgets):
    rows = []
    for number, paper in ((15, "5.95, 4.67: .17"), (16, "380, 0.13: 1.15")):
        r, t, std = budgets[number]
        rows.append([f"({number})", f"{r:.3g}, {t:.3g}", f"{std:.3g}", paper])
    return table(["problem", "r, t found", "validation std", "paper: r, t: std"], rows)


def closed_in_a_round(number, seed):
    """The fraction of the distance to the solution that one round closes in its slowest direction.

    Near a solution with Hessian S of J, the slacks eliminated, a round of solving for alpha and
    then for w leaves of an error in w what S_ww^-1 S_wa S_aa^-1 S_aw does. With R the inverse of S
    that is 1 - S_ww^-1 R_ww^-1. At the direct solution for mu = 1e-3 and 1e-6.
    """
    make, r, t = PROBLEMS[number]
    data = make(random_state=seed)
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    y = (data.y - data.y.mean()) / data.y.std()
    run = PrimalDual(RBFNetwork(X, y, X), Budget(r, t), 1e-3)
    closed = []
    for mu in (1e-3, 1e-4, 1e-5, 1e-6):
        run.stage(mu, 0.01, 200)
        run.lam = 0.0
        system, n = run._system(), run.x.n_alpha
        slopes = np.delete(np.eye(2 * n + X.shape[1]), np.s_[n : 2 * n], axis=0)  # by alpha, by w
        steps = [InteriorPoint(system.solve(slope), n) for slope in slopes]
        R = -np.array([np.concatenate([step.alpha, step.w]) for step in steps])
        of_w = slice(n, None)
        S_ww = np.linalg.inv(R)[of_w, of_w]
        closed.append(eigh(np.linalg.inv(R[of_w, of_w]), S_ww, eigvals_only=True)[0])
    return closed[0], closed[-1]


def rounds(parts):
    rows = []
    for number in PROBLEMS:
        found = parts.get(
            f"rounds-{number}",
            lambda number=number: [closed_in_a_round(number, seed) for seed in range(parts.seeds)],
        )
        ends = [f"{min(part):.2g} to {max(part):.2g}" for part in np.transpose(found)]
        rows.append([f"({number})", *ends])
    return table(["problem", "mu = 1e-3", "mu = 1e-6"], rows)


def first_draw(number):
    make, r, t = PROBLEMS[number]
    data = make(random_state=0)
    return SparseRBFRegressor(r, t, relevance=0, **PLAIN).fit(data.X, data.y), data


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


def time_of(n, d, way, seed):
    """CPU seconds of a fit, and the systems that it solves."""
    data = friedman(n, d, random_state=seed)
    began = time.process_time()
    model = fitted_by(way)(380.0, 0.13, relevance=0, **PLAIN, **WAYS[way])
    model.fit(data.X, data.y)
    return time.process_time() - began, model.n_iter_


def running_times(parts, sizes=(100, 250, 500, 1000), widths=(10, 50), count=N_TIMES):
    """Figure 4: CPU seconds of the robust solver and of the printed one; a table and a picture."""
    rows = []
    means = {}
    for n in sizes:
        row = [n]
        for d in widths:
            for way in ("robust, direct", "printed Algorithm 1")[: 2 if n <= PRINTED_UP_TO else 1]:
                found = [
                    parts.get(
                        f"time-{n}-{d}-{way}-{seed}",
                        lambda n=n, d=d, way=way, seed=seed: time_of(n, d, way, seed),
                    )
                    for seed in range(count)
                ]
                seconds, systems = np.mean(found, axis=0)
                means[way, d, n] = seconds
                row.append(f"{seconds:.2f} ({systems:.0f})")
            if n > PRINTED_UP_TO:
                row.append("not run")
        rows.append(row)
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    ax = figure.subplots()
    for way, marker in (("robust, direct", "o"), ("printed Algorithm 1", "s")):
        for d in widths:
            x = [n for n in sizes if (way, d, n) in means]
            ax.loglog(x, [means[way, d, n] for n in x], marker=marker, label=f"{way}, d = {d}")
    ax.set(xlabel="N", ylabel="CPU seconds")
    ax.legend(frameon=False)
    heads = [f"d = {d}: {way}" for d in widths for way in ("robust", "printed")]
    return [table(["N", *heads], rows), save_figure(figure, "rbf_figure_4")]


def split_of(data, n_train, seed):
    if seed == 0 and data.split is not None:
        return np.flatnonzero(data.split == "train"), np.flatnonzero(data.split == "test")
    order = np.random.default_rng(seed).permutation(len(data.y))
    return order[:n_train], order[n_train:]


def summary(data, a, b, fits):
    """By method: test error over training and over test variance, inputs, basis functions, and the
    validation error over the training variance."""
    X, y = data.X.astype(float), data.y.astype(float)
    out = {}
    for method, (model, inputs, bases, error) in fits.items():
        mse = np.mean((y[b] - model.predict(X[b])) ** 2)
        out[method] = (mse / y[a].var(), mse / y[b].var(), inputs, bases, error / y[a].var())
    return out


def rivals(X, y, most, machine, forward, reduced):
    """The four rivals, fitted; options of the three kinds of machine."""
    n, d = X.shape
    machine = LSSVMRegressor(**machine).fit(X, y)
    forward = LSSVMForwardRegressor(most, choose="min", validation=None, **forward).fit(X, y)
    inputs = len(forward.selected_)
    both, kept = (
        ReducedRankKernelRidge(columns=columns, **{"sigma2": model.sigma2_, **reduced}).fit(X, y)
        for columns, model in ((None, machine), (forward.selected_.tolist(), forward))
    )
    return {
        "LS-SVM": (machine, d, n, machine.cv_error_),
        "LS-SVM with FS": (forward, inputs, n, forward.path_.error(inputs)),
        "RRKRR": (both, d, len(both.samples_), both.cv_error_),
        "sparse RRKRR": (kept, inputs, len(kept.samples_), kept.cv_error_),
    }


def as_fit(network, error):
    return network, len(network.selected_), len(network.coef_), error


def compare(name, seed):
    """All methods on one split, by the short protocol."""
    data = load(name)
    _, n_train, r_range, t_range = SETS[name]
    a, b = split_of(data, n_train, seed)
    X, y = data.X[a].astype(float), data.y[a].astype(float)
    rs, ts = np.geomspace(*r_range, N_GRID), np.geomspace(*t_range, N_GRID)
    network = SparseRBFRegressorCV(rs, ts, cv=N_FOLDS, choose="min", **PLAIN).fit(X, y)
    turns = SparseRBFRegressor(network.r_, network.t_, solver="alternating", **PLAIN).fit(X, y)
    again = cross_val_predict(turns, X, y, cv=N_FOLDS)
    fits = rivals(X, y, MOST_INPUTS[name], {}, {"sigma2": [10.0, 100.0]}, {})
    fits["Algorithm 1"] = as_fit(network, network.path_.error(len(network.selected_)))
    fits["Algorithm 2"] = as_fit(turns, np.mean((again - y) ** 2))
    return summary(data, a, b, fits), network, turns


def kernel_protocol(name):
    """The four rivals on split 0, by the paper's protocol."""
    data, a, b, folds = printed_split(name)
    X, y = data.X[a].astype(float), data.y[a].astype(float)
    gammas, widths = (np.geomspace(*ends, PRINTED_GRID).tolist() for ends in KERNELS[name])
    values = {"gamma": gammas, "sigma2": widths}
    folded = {**values, "cv": folds}
    fits = rivals(X, y, min(X.shape[1], PRINTED_INPUTS), folded, folded, values)
    return summary(data, a, b, fits)


def network_protocol(name, solver, n_grid):
    """A network on split 0, its budgets by a grid and ten folds."""
    data, a, b, folds = printed_split(name)
    X, y = data.X[a].astype(float), data.y[a].astype(float)
    rs, ts = (np.geomspace(*ends, n_grid) for ends in SETS[name][2:])
    given = {"cv": folds, "choose": "min", "relaxed": False, "solver": solver}
    search = SparseRBFRegressorCV(rs, ts, **given, **PLAIN).fit(X, y)
    fits = {solver: as_fit(search, search.path_.error(len(search.selected_)))}
    return summary(data, a, b, fits)[solver]


def printed_split(name):
    """A data set, the rows of split 0, and the paper's folds."""
    data = load(name)
    folds = KFold(PRINTED_FOLDS, shuffle=True, random_state=0)
    return data, *split_of(data, SETS[name][1], 0), folds


def as_printed(name, parts, grids):
    """All methods on split 0, by the paper's protocol; sides of the grids of both algorithms."""
    found = dict(parts.get(f"kernels-{name}", lambda: kernel_protocol(name)))
    for number, solver in enumerate(("direct", "alternating")):
        n_grid = grids[number]
        found[f"Algorithm {number + 1}"] = parts.get(
            f"network-{name}-{solver}-{n_grid}",
            lambda solver=solver, n_grid=n_grid: network_protocol(name, solver, n_grid),
        )
    return found


def by_lars(basis, target, r):
    """The lasso with sum |a| = r by scikit-learn's path, between the two steps around it."""
    path = lars_path(basis.T, target, method="lasso", max_iter=10_000)[2]
    sums = np.abs(path).sum(axis=0)
    k = int(np.searchsorted(sums, r))
    if k == len(sums):
        return path[:, -1]
    part = (r - sums[k - 1]) / (sums[k] - sums[k - 1])
    return path[:, k - 1] + part * (path[:, k] - path[:, k - 1])


def centres_on_wine(networks):
    """Centres and test errors of each split with the barrier's coefficients and with the exact."""
    data = load("wine_spectra")
    X, y = data.X.astype(float), data.y.astype(float)
    columns = []
    for seed, network in enumerate(networks):
        a, b = split_of(data, SETS["wine_spectra"][1], seed)
        inputs = np.sort(network.selected_)
        Z = X[a][:, inputs]
        trainer = Trainer(Z, y[a], Z, network.r_, network.t_, RBFOptions(relevance=0.0))
        fit = trainer.run()
        scaling, solution = trainer.scaling, fit.solution
        new = scaling.inputs(X[b][:, inputs])[:, trainer.inputs]
        barrier = solution.alpha[0] + solution.alpha[1:] @ gaussians(new, trainer.C, solution.w)
        errors = [
            np.mean((scaling.target(y[b]) - barrier) ** 2),
            np.mean((y[b] - fit.model.predict(X[b][:, inputs])) ** 2) / y[a].var(),
        ]
        basis, target = trainer.network.at(solution.w), trainer.network.y
        least = BudgetLasso(basis, target, network.r_, solution.alpha)
        others = by_lars(basis, target, network.r_)
        apart = np.mean((others @ basis - target) ** 2) / least.error - 1
        columns.append(
            [f"{network.r_:.3g}, {network.t_:.2g}", len(inputs), np.count_nonzero(least.a[1:]),
             np.count_nonzero(others[1:]), f"{apart:.0e}", len(fit.model.coef),
             *(f"{error:.5f}" for error in errors), f"{errors[1] / errors[0]:.3f}"]
        )  # fmt: skip
    names = ["r, t", "inputs", "centres with the lowest error", "the same by scikit-learn's LARS",
             "training error of LARS, relative difference", "centres kept",
             "test error, the barrier's coefficients (94 centres)",
             "test error, centres kept", "ratio"]  # fmt: skip
    rows = [[name, *row] for name, row in zip(names, zip(*columns, strict=True), strict=True)]
    return [
        "### Centres on Wine",
        "One fit per split with the inputs and budgets that the search chose, before and after two "
        "steps: the coefficients are solved exactly at the final weights, and centres are removed as "
        "long as the training error grows by less than 0.2 per cent in total.",
        table(["split", *range(len(columns))], rows),
        "The centres with the lowest error are those of the exact lasso: scikit-learn's LARS, on the "
        "same basis functions and up to the same sum of coefficients, has the same training error and "
        "as many centres, or one more or less (if the relative difference is above 1e-6, its path "
        "ended early, because the basis functions are nearly collinear). One test wine of split 2 is "
        "far from all training wines, and two of split 7 have more alcohol than all of them.",
    ]


def of_file(name):
    data = load(name)
    return data.X.astype(float), data.y


def two_of(data, a, b):
    X, y = data
    kept = (y == a) | (y == b)
    return X[kept], y[kept]


def product_of_two():
    X = np.random.default_rng(0).uniform(-1, 1, (500, 8))
    return X, X[:, 0] * X[:, 1] > 0


def classify(name, seed):
    """Shares of test samples classified rightly, and sizes, of one split."""
    X, y = CLASS_SETS[name]()
    order = np.random.default_rng(seed).permutation(len(y))
    n = min(N_CLASS_TRAIN, 2 * len(y) // 3)
    a, b = order[:n], order[n:]
    network = SparseRBFClassifierCV(4, 4, cv=3, choose="min", **PLAIN).fit(X[a], y[a])
    machine = LSSVMClassifier().fit(X[a], y[a])
    lasso = LogisticRegressionCV(Cs=10, cv=3, l1_ratios=(1.0,), solver="liblinear", random_state=0,
                                 scoring="neg_log_loss", use_legacy_attributes=False)  # fmt: skip
    lasso = make_pipeline(StandardScaler(), lasso).fit(X[a], y[a])
    return [
        network.score(X[b], y[b]), len(network.selected_), len(network.coef_),
        machine.score(X[b], y[b]), np.mean(lasso.predict(X[b]) == y[b]), np.count_nonzero(lasso[-1].coef_),
    ]  # fmt: skip


def two_classes(parts):
    rows = []
    for name, make in CLASS_SETS.items():
        if name in ("australian", "german.numer") and name.replace(".", "_") not in available():
            continue
        found = [
            parts.get(f"classes-{name}-{seed}", lambda n=name, s=seed: classify(n, s))
            for seed in range(N_CLASS_SPLITS)
        ]
        ours, inputs, bases, theirs, linear, chosen = np.mean(found, axis=0)
        rows.append(
            [name, make()[0].shape[1], f"{ours:.3f}", f"{inputs:.1f}", f"{bases:.1f}",
             f"{theirs:.3f}", f"{linear:.3f}", f"{chosen:.1f}"]
        )  # fmt: skip
    header = ["", "inputs in all", "network: right", "inputs", "basis functions",
              "LS-SVM: right", "logistic, L1: right", "inputs"]  # fmt: skip
    return table(header, rows)


def benchmark_statements(found):
    """Claims of the paper about the benchmarks, and the results by its protocol; by data set."""
    if not found:
        return ["Not run: no time, or no files (SPARSEPATH_DATA)."]

    def each(line):
        return "; ".join(f"{SETS[name][0]} {line(run)}" for name, run in found.items())

    def shown(run, method):
        error, _, inputs, bases, _ = run[method]
        return f"{error:.3g} ({inputs:g} inputs, {bases:g} basis functions)"

    compared = each(
        lambda run: ", ".join(
            f"{method} {shown(run, method)}" for method in ("LS-SVM", "Algorithm 1", "Algorithm 2")
        )
    )
    forward = each(lambda run: f"{run['LS-SVM'][0]:.3g} and {run['LS-SVM with FS'][0]:.3g}")
    rank = each(lambda run: f"{run['RRKRR'][3]:g} and {run['sparse RRKRR'][3]:g}")
    return [
        f"- *Test errors like those of LS-SVM, with fewer inputs and basis functions.* {compared}.",
        "- *Forward selection helps the LS-SVM on Boston, not on Wine and Bank.* Test errors without "
        f"and with it: {forward}.",
        "- *Reduced-rank kernel ridge regression needs fewer basis functions than samples.* All inputs "
        f"and selected ones: {rank}.",
        "- *Bank.* Cannot be judged: the file at hand, bank32nh, has more noise than the paper's.",
    ]


SHORT_PROTOCOL = (
    f"A {N_GRID} x {N_GRID} grid with {N_FOLDS} folds; the selected inputs are refitted with new "
    "budgets. Errors are divided by the training variance (in brackets by the test variance); medians "
    "over splits. Algorithm 2 is run at the budgets that the search with Algorithm 1 chose. LS-SVM and RRKRR "
    "are tuned by exact leave-one-out, RRKRR at the width of the LS-SVM."
)


def printed_protocol_text(grid, turns):
    """What was run of the paper's protocol."""
    text = (
        f"The split of the file, or the first random split. {PRINTED_GRID} values of each parameter of "
        f"the other methods over the ranges of Table 1, {PRINTED_FOLDS} folds, lowest error; RRKRR by "
        "exact leave-one-out. Errors are divided by the training variance. "
    )
    if grid == turns == PRINTED_GRID:
        return text + f"The networks have a {grid} x {grid} grid of budgets and the same folds."
    return text + (
        f"The networks have the same folds. To save time, the grid of budgets is {grid} x {grid} for "
        f"Algorithm 1 and {turns} x {turns} for Algorithm 2; the paper has {PRINTED_GRID} x "
        f"{PRINTED_GRID} for both, which the script uses without options."
    )


def protocol(name, run):
    """Tables 2 and 3 for one data set by the paper's protocol, on the file's own split."""
    rows = [
        [method, f"{error:.3g}", f"{a:.3g}", f"{inputs:g}", f"{bases:g}", printed, PAPER[name][method]]
        for (method, (a, _, inputs, bases, error)), printed in zip(
            run.items(), VALIDATION[name], strict=True
        )
    ]  # fmt: skip
    header = ["", "validation error", "test error", "inputs", "basis functions",
              "paper: validation", "paper: test (inputs, bases)"]  # fmt: skip
    return [f"### {SETS[name][0]}, split 0", table(header, rows)]


def benchmark(name, runs):
    """Tables 2 and 3 for one data set on several splits."""
    title, n_train, _, _ = SETS[name]
    if not runs:
        return [f"### {title}", "Not run: no time, or no file (SPARSEPATH_DATA)."]
    rows = []
    for method in runs[0]:
        a, b, inputs, bases, error = np.median([run[method] for run in runs], axis=0)
        each = ", ".join(f"{run[method][0]:.3g}" for run in runs)
        shown = f"{a:.3g} ({b:.3g})"
        row = [method, f"{error:.3g}", shown, each, f"{inputs:g}", f"{bases:g}"]
        rows.append([*row, PAPER[name][method]])
    header = ["", "validation error", "test error", "each split", "inputs", "basis functions",
              "paper: test (inputs, bases)"]  # fmt: skip
    first = f"### {title}, {n_train} rows to train, {len(runs)} splits"
    most = f"Forward selection stops at {MOST_INPUTS[name]} inputs."
    return [first, most, table(header, rows)]


def figures_5_and_6(network, turns):
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    network.plot_surface("error", ax=left)
    network.plot_surface("inputs", ax=right)
    surface = save_figure(figure, "rbf_figure_5")
    figure = Figure(figsize=(10, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    network.plot_weights(left)
    turns.plot_weights(right)
    left.set_title("Algorithm 1", fontsize="small")
    right.set_title("Algorithm 2, at the same budgets", fontsize="small")
    return [surface, save_figure(figure, "rbf_figure_6")]


def problems_page(parts, n_grid, sizes, count):
    """The simulated problems: Figures 2 to 4."""
    budgets = budgets_of(parts, n_grid)
    found = {number: draws_of(number, parts) for number in PROBLEMS}
    text = [
        "# RBF networks that select inputs and basis functions (Tikka 2008)",
        "Written by `experiments/rbf.py`. Tables 2 and 3 are on [another page](rbf-benchmarks.md).",
        "## What holds",
        "\n".join(statements(found, budgets)),
        "## Budgets (protocol of Figures 2 and 3)",
        found_section(budgets),
        f"A {n_grid} x {n_grid} grid of r and t, evaluated on 1000 new samples; data set 0.",
    ]
    for number in (15, 16):
        _, r, t = PROBLEMS[number]
        text += [f"## Problem ({number}), r = {r}, t = {t}", simulated(found[number])]
        model, data = first_draw(number)
        fresh = PROBLEMS[number][0](1000, random_state=1000)
        text += [figure_2(model, data) if number == 15 else figure_3(model, fresh)]
        text += [
            f"Mean and standard deviation over data sets 0 to {parts.seeds - 1}, validation on 1000 new "
            "samples. Standard deviations are in units of the output; J, the minimised criterion, is for "
            "standardised data. *Robust* is the solver of the package, *printed* the algorithm as in the "
            "paper; a *system* is one linear system of a Newton step."
        ]
    text += [
        "## Why alternation is slow on problem (16)",
        rounds(parts),
        "The fraction of the remaining distance to the solution that one round of Algorithm 2 closes if "
        "both halves are solved exactly, in its slowest direction (from the Hessian of J at the direct "
        f"solution; minimum and maximum over {parts.seeds} data sets).",
        "## Running times (Figure 4)",
        *running_times(parts, sizes=sizes, count=count),
        f"CPU seconds (number of linear systems solved), means over {count} data sets, r = 380, t = 0.13. "
        "*Printed* is Algorithm 1 as printed, with the slack variables eliminated, up to N = "
        f"{PRINTED_UP_TO}.",
    ]
    save_page("rbf", "\n\n".join(text) + "\n")


def benchmarks_page(parts, names, splits, grids=(PRINTED_GRID, PRINTED_GRID)):
    """The benchmarks: Tables 2 and 3, Figures 5 and 6, and classification."""
    text = [
        "# RBF networks on benchmarks (Tikka 2008, Tables 2 and 3)",
        "Written by `experiments/rbf.py`. The simulated problems are on [another page](rbf.md).",
    ]
    found = {
        name: as_printed(name, parts, grids)
        for name in names
        if name in available() and parts.has_time_for(f"kernels-{name}")
    }
    text += ["## What holds", "\n".join(benchmark_statements(found))]
    text.append("## The paper's protocol (Tables 2 and 3)")
    for name, run in found.items():
        text += protocol(name, run)
    text.append(printed_protocol_text(*grids))
    runs = {name: [] for name in names}
    bank, spectra = None, []
    for seed in range(max(splits.values(), default=0)):
        for name in names:
            part = f"{name}-{seed}"
            if name not in available() or seed >= splits[name] or not parts.has_time_for(part):
                continue
            out, network, turns = parts.get(part, lambda n=name, s=seed: compare(n, s))
            runs[name].append(out)
            if name == "wine_spectra":
                spectra.append(network)
            if name == "bank32nh" and seed == 0:
                bank = network, turns
    text += ["## Several splits", SHORT_PROTOCOL]
    for name in names:
        text += benchmark(name, runs[name])
    if bank is not None:
        text += ["### Figures 5 and 6: Bank, split 0", *figures_5_and_6(*bank)]
    if spectra:
        text += centres_on_wine(spectra)
    if parts.has_time_for("the rest"):
        text += [
            "## Two classes",
            two_classes(parts),
            f"The share of test samples classified correctly; means over {N_CLASS_SPLITS} splits with "
            f"{N_CLASS_TRAIN} training samples, or two thirds if there are fewer. The network is "
            "`SparseRBFClassifierCV(4, 4, cv=3)` on all inputs. The class of the last "
            "data set is the sign of the product of two inputs, which no linear method can find.",
        ]
    save_page("rbf-benchmarks", "\n\n".join(text) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", type=Path, help="where to keep finished parts")
    parser.add_argument("--minutes", type=float, default=1e6, help="start no part after this time")
    parser.add_argument("--only", choices=("problems", "benchmarks"), help="one page")
    parser.add_argument("--tiny", action="store_true", help="two draws, for a test")
    sides = {"type": int, "default": PRINTED_GRID}
    parser.add_argument("--grid", **sides, help="nodes of a side of Algorithm 1's grid")
    parser.add_argument("--turns", **sides, help="nodes of a side of Algorithm 2's grid")
    options = parser.parse_args()
    parts = Parts(options.parts, options.minutes, 2 if options.tiny else N_SEEDS)
    warnings.simplefilter("ignore", PathWarning)
    if options.only != "benchmarks":
        if options.tiny:
            problems_page(parts, 2, (50,), 1)
        else:
            problems_page(parts, PRINTED_GRID, (100, 250, 500, 1000), N_TIMES)
    if options.only != "problems":
        if options.tiny:
            benchmarks_page(Parts(None, 0, 2), (), {})
        else:
            benchmarks_page(parts, tuple(SETS), N_SPLITS, (options.grid, options.turns))


if __name__ == "__main__":
    main()
