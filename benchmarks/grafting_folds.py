"""Ten-fold cross-validation over 30 values of l1: grafting against other solvers.

Every solver runs at the loosest of its tolerances 1e-3, 1e-4, ... at which its path on all data is
within a relative ``TARGET`` of the optimum at every value of l1. Fits with squared loss have an
intercept. Fits with logistic loss have none, because celer and liblinear have no unpenalised
intercept. Solvers without a cross-validated estimator are timed on their paths on all data and on
every training set.
"""

import time

import numpy as np
from sklearn.model_selection import KFold

from sparsepath import GraftingClassifierCV, GraftingRegressorCV, grafting_path

TARGET = 1e-6
SHAPES = ((1000, 100), (100000, 50), (72, 7129), (200, 20000))
FOLDS, VALUES, LEAST = 10, 30, 0.01
PATIENCE = 3.0  # CPU seconds for one path; a slower solver is not timed further


class Problem:
    """Data, the values of l1 and the criterion at its optima."""

    def __init__(self, m, n, loss, order):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((m, n))
        for j in range(1, n):
            X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
        w = np.zeros(n)
        relevant = rng.choice(n, min(n // 5, 20), replace=False)
        w[relevant] = rng.standard_normal(len(relevant))
        f = X @ w
        if loss == "squared":
            self.y = f + 0.5 * f.std() * rng.standard_normal(m)
        else:
            self.y = np.where(rng.random(m) < 1 / (1 + np.exp(-f)), 1.0, -1.0)
        self.X, self.loss = np.array(X, order=order), loss
        self.intercept = loss == "squared"
        exact = sparsepath_path(self, 1e-11)
        self.l1s = exact.l1s
        self.best = exact.criteria  # the duality gaps are below 1e-11

    def part(self, rows):
        """The same problem on some rows."""
        some = object.__new__(Problem)
        vars(some).update(vars(self))
        order = "C" if self.X.flags.c_contiguous else "F"
        some.X, some.y = np.array(self.X[rows], order=order), self.y[rows]
        return some

    def parts(self):
        return [train for train, _ in KFold(FOLDS).split(self.X)]

    def excess(self, W, b):
        """The largest relative distance of the criterion from its optimum."""
        F = self.X @ np.transpose(W) + b
        if self.loss == "squared":
            values = 0.5 * ((F - self.y[:, None]) ** 2).mean(0)
        else:
            values = np.logaddexp(0, -self.y[:, None] * F).mean(0)
        return float(((values + self.l1s * np.abs(W).sum(1)) / self.best - 1).max())


def sparsepath_path(of, tol):
    more = {"l1s": of.l1s} if hasattr(of, "l1s") else {"n_l1s": VALUES, "least": LEAST}
    return grafting_path(
        of.X, of.y, loss=of.loss, fit_intercept=of.intercept, standardize=False, tol=tol,
        n_threads=1, **more,
    )  # fmt: skip


class Sparsepath:
    name = "sparsepath"

    def path(self, of, tol):
        found = sparsepath_path(of, tol)
        return found.coefs[:, 0], found.intercepts[:, 0]

    def cross_validate(self, of, tol):
        estimator = GraftingRegressorCV if of.loss == "squared" else GraftingClassifierCV
        estimator(
            l1s=of.l1s, cv=KFold(FOLDS), fit_intercept=of.intercept, standardize=False,
            validation=None, tol=tol,
        ).fit(of.X, of.y)  # fmt: skip


class ByHand:
    """Paths on all data and on every training part."""

    def cross_validate(self, of, tol):
        self.path(of, tol)
        for rows in of.parts():
            self.path(of.part(rows), tol)


class Skglm(ByHand):
    name = "skglm"

    def path(self, of, tol):
        from skglm import Lasso, SparseLogisticRegression

        kind = Lasso if of.loss == "squared" else SparseLogisticRegression
        model = kind(warm_start=True, fit_intercept=of.intercept, max_iter=100)
        W, b = [], []
        for l1 in of.l1s:
            model.set_params(alpha=l1, tol=tol * l1).fit(of.X, of.y)  # its tolerance is absolute
            W.append(model.coef_.ravel().copy())
            b.append(float(np.ravel(model.intercept_)[0]) if of.intercept else 0.0)
        return np.array(W), np.array(b)


class Celer(ByHand):
    name = "celer"

    def path(self, of, tol):
        from celer import celer_path

        X, y = np.asfortranarray(of.X), of.y
        centre, mean = np.zeros(X.shape[1]), 0.0
        if of.intercept:
            centre, mean = X.mean(0), y.mean()
            X, y = np.asfortranarray(X - centre), y - mean
        kind = "lasso" if of.loss == "squared" else "logreg"
        scale = 1.0 if kind == "lasso" else len(y)
        _, W, _ = celer_path(X, y, pb=kind, alphas=scale * of.l1s, tol=tol, max_iter=200)
        return W.T, mean - W.T @ centre


class ScikitLearn:
    name = "scikit-learn"

    def path(self, of, tol):
        from sklearn.linear_model import LogisticRegression, lasso_path

        if of.loss == "squared":
            centre, mean = of.X.mean(0), of.y.mean()
            X = np.asfortranarray(of.X - centre)
            _, W, _ = lasso_path(X, of.y - mean, alphas=of.l1s, tol=tol, max_iter=100000)
            return W.T, mean - W.T @ centre
        W = [
            LogisticRegression(
                C=1 / (len(of.y) * l1), l1_ratio=1.0, solver="liblinear", tol=tol,
                fit_intercept=False, max_iter=2000,
            ).fit(of.X, of.y).coef_.ravel()
            for l1 in of.l1s
        ]  # fmt: skip
        return np.array(W), np.zeros(len(W))

    def cross_validate(self, of, tol):
        from sklearn.linear_model import LassoCV, LogisticRegressionCV

        if of.loss == "squared":
            model = LassoCV(alphas=of.l1s, cv=KFold(FOLDS), tol=tol, max_iter=100000)
        else:
            model = LogisticRegressionCV(
                Cs=1 / (0.9 * len(of.y) * of.l1s), cv=KFold(FOLDS), l1_ratios=(1.0,),
                solver="liblinear", tol=tol, fit_intercept=False, max_iter=2000,
                scoring="neg_log_loss", use_legacy_attributes=False,
            )  # fmt: skip
        model.fit(of.X, of.y)


class Adelie:
    name = "adelie"

    def _given(self, of, tol):
        import adelie as ad

        glm = ad.glm.gaussian(y=of.y)
        if of.loss == "logistic":
            glm = ad.glm.binomial(y=(of.y + 1) / 2)
        return glm, {
            "lmda_path": of.l1s, "intercept": of.intercept, "tol": tol, "irls_tol": tol,
            "adev_tol": 1.0, "early_exit": False, "progress_bar": False, "n_threads": 1,
        }  # fmt: skip

    def path(self, of, tol):
        import adelie as ad

        glm, given = self._given(of, tol)
        found = ad.grpnet(of.X, glm, **given)
        return found.betas.toarray(), found.intercepts

    def cross_validate(self, of, tol):
        import adelie as ad

        glm, given = self._given(of, tol)
        del given["lmda_path"]  # it makes its own, the same values
        ad.cv_grpnet(
            of.X, glm, n_folds=FOLDS, lmda_path_size=VALUES, min_ratio=LEAST, seed=0, **given
        )


RIVALS = (Skglm(), Celer(), ScikitLearn(), Adelie())


def cpu(work, *given):
    begun = time.process_time()
    found = work(*given)
    return time.process_time() - begun, found


def good_tolerance(solver, of):
    """The loosest tolerance that is good enough, None if there is none; seconds of its path."""
    for power in range(3, 15):
        taken, found = cpu(solver.path, of, 10.0**-power)
        if len(found[0]) == VALUES and of.excess(*found) <= TARGET:
            return 10.0**-power, taken
        if taken > PATIENCE:
            return 10.0**-power, taken
    return None, 0.0


def times(of, repeats):
    """Cells of a row: median CPU seconds of each solver, in turn."""
    small = Problem(60, 20, of.loss, "F")
    for solver in RIVALS:  # compile
        solver.path(small, 1e-3)
    tried = {solver: good_tolerance(solver, of) for solver in (Sparsepath(), *RIVALS)}
    timed = {solver: tol for solver, (tol, taken) in tried.items() if tol and taken <= PATIENCE}
    seconds = {solver: [] for solver in timed}
    for _ in range(repeats):
        for solver, tol in timed.items():
            seconds[solver].append(cpu(solver.cross_validate, of, tol)[0])
    cells, ours = [], None
    for solver, (tol, path) in tried.items():
        if solver in timed:
            median = float(np.median(seconds[solver]))
            ours = median if ours is None else ours
            cells.append(f"{median:.3f} ({median / ours:.1f})")
        else:
            cells.append(f"over {path:.1f} (over {path / ours:.0f})" if tol else "not reached")
    return [cells[0].split()[0], *cells[1:]]


def rows(f, repeats, orders=("F",)):
    """Rows of the table: loss, shape, order in memory, seconds and ratios."""
    out = []
    for loss in ("squared", "logistic"):
        for m, n in SHAPES:
            for order in orders:
                of = Problem(m // f, n // f, loss, order)
                out.append([loss, f"{m} x {n}, {order}", *times(of, repeats)])
                print(" | ".join(out[-1]), flush=True)
    return out


HEADER = [
    "loss", "data, order in memory", "sparsepath, s", *(f"{rival.name} (ratio)" for rival in RIVALS)
]  # fmt: skip
