"""Every criterion on every shape; a part of ``shapes.py``."""

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


def criteria(quick: bool, rounds: int) -> str:
    """Every criterion on every shape: time over F, less a tenth of a millisecond a step."""
    rows, beyond = [], 0
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
            del works["AUC, pairs"]
        times = in_turn(works, 2 if m * n < 1 << 20 else 1)
        over = {
            name: max((of.min() - 1e-4 * k * (name != "sorts")) / times["F"].min(), 0.0)
            for name, of in times.items()
        }
        over.setdefault("AUC, pairs", np.nan)
        names = ["sorts", *CRITERIA]
        beyond += sum(over[name] > 6 for name in CRITERIA)
        cells = ["" if np.isnan(over[name]) else f"{over[name]:.1f}" for name in names]
        rows.append([f"{m} x {n}, k = {k}", f"{1e3 * times['F'].min():.3g}", *cells])
        print(rows[-1], flush=True)
    header = ["data", "F, ms", "sorting all columns k times", *CRITERIA]
    return table(header, rows) + bars(("cells beyond 6 F", beyond, 0))
