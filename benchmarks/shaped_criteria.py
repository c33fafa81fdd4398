"""Every criterion on every shape, and the minimum work it needs; a part of ``shapes.py``."""

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from measure import table
from shaped import bars, greedy, in_turn, problem, products
from sparsepath.rls.criteria.table import CLASSES

CRITERIA_SHAPES = (
    (300, 30, 20),
    (500, 100, 20),
    (72, 2000, 20),
    (2000, 500, 20),
    (10000, 100, 20),
    (20000, 300, 20),
)
CRITERIA = (
    "squared",
    "absolute",
    "Huber",
    "zero-one",
    "balanced",
    "AUC, five folds",
    "AUC, pairs",
    "ten folds",
    "floating",
    "swap",
    "3 targets",
    "3 classes",
    "3 classes, zero-one",
)
# Minimum work of a criterion, measured in the same run, for criteria that cannot be within 6 F.
FLOORS = {
    "AUC, five folds": "sorts",
    "AUC, pairs": "pairs",
}
ALONE = ("sorts", "pairs")
NEAR = 2.0  # times its minimum work: up to here a cell gets a star


def pairs_alone(m, n, k):
    """One comparison for each pair of a positive and a negative sample, candidate and step."""
    H = np.random.default_rng(0).standard_normal((m // 2, m - m // 2))
    return lambda: [np.count_nonzero(H > 0.0) for _ in range(n * k)]


def criteria(quick: bool, rounds: int) -> str:
    """Every criterion on every shape: time divided by F, minus 0.1 ms per step."""
    rows, beyond = [], dict.fromkeys(("plain", "order", "swap"), 0)
    for m, n, k in CRITERIA_SHAPES[:2] if quick else CRITERIA_SHAPES:
        X, y = problem(m, n)
        sign = np.where(y > np.median(y), 1.0, -1.0)
        three = np.digitize(y, np.quantile(y, [0.33, 0.66]))
        classes = np.where(three[:, None] == np.arange(3), 1.0, -1.0)
        Y = np.column_stack([y, *np.random.default_rng(0).standard_normal((2, m))])
        five = list(StratifiedKFold(5).split(X, sign))

        def search(y=y, X=X, k=k, loss="squared", **options):
            return lambda: greedy(X, y, k, loss=CLASSES[loss], **options)

        works = {
            "F": products(X, k),
            "sorts": lambda X=X, k=k: [np.sort(X, axis=0) for _ in range(k)],
            "pairs": pairs_alone(m, n, k),
            "squared": search(),
            "absolute": search(loss="absolute"),
            "Huber": search(loss="huber"),
            "zero-one": search(sign, loss="zero_one"),
            "balanced": search(sign, loss="balanced"),
            "AUC, five folds": search(sign, loss="auc", splits=five),
            "AUC, pairs": search(sign, loss="auc"),
            "ten folds": search(splits=list(KFold(10).split(X))),
            "floating": search(search="floating"),
            "swap": search(search="swap"),
            "3 targets": search(Y),
            "3 classes": search(classes),
            "3 classes, zero-one": search(classes, loss="zero_one"),
        }
        if m > 500:
            del works["AUC, pairs"], works["pairs"]
        times = in_turn(works, 3 * rounds if m * n < 1 << 18 else rounds + 1)
        steps = {name: 1e-4 * k * (name in CRITERIA) for name in times}
        over = {
            name: max((of.min() - steps[name]) / times["F"].min(), 0.0)
            for name, of in times.items()
        }
        cells = []
        for name in (*ALONE, *CRITERIA):
            if name not in over:
                cells.append("")
                continue
            far = name in CRITERIA and over[name] > 6
            close = far and name in FLOORS and over[name] <= NEAR * over[FLOORS[name]]
            kind = "order" if name in FLOORS else "swap" if name == "swap" else "plain"
            beyond[kind] += far and not close
            cells.append(f"{over[name]:.1f}{'*' if close else ''}")
        rows.append([f"{m} x {n}, k = {k}", f"{1e3 * times['F'].min():.3g}", *cells])
        print(rows[-1], flush=True)
    header = ["data", "F, ms", *(f"{name}, alone" for name in ALONE), *CRITERIA]
    return table(header, rows) + bars(
        ("cells of losses, folds, floating, targets and classes beyond 6 F", beyond["plain"], 0),
        ("cells of the area under the curve beyond 6 F and twice their floor", beyond["order"], 0),
        ("cells of exchanges beyond 6 F", beyond["swap"], 0),
    )
