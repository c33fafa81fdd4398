"""SET, the leave-one-out error of ELM-FS, and the error of the same model on new data, by size.

    python experiments/elmfs_honest.py [--seeds 2] [--size 6]
    python experiments/elmfs_honest.py --parts FOLDER --only NAME,NAME    # only these data sets; no page is written
    python experiments/elmfs_honest.py --quick      # without the honest error: a fifth of the time

Writes docs/results/elmfs-honest.md. The seed splits real data at random (Santa Fe: the first 1000
rows are for training). Simulated data have 500 training rows, 1494 test rows and 100 columns driven
by eight common factors: t3 (factors, columns and noise from Student's t with three degrees of
freedom), mixed (every other column lognormal), lognormal (all columns and the target). The honest
error is that of the default validation; "luck" is measured by models on random columns.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from paper_sets import load
from parts import Parts as Kept
from results import save_page
from sparsepath import ELMFSRegressor, ELMRegressor

Parts = tuple[Any, Any, Any, Any]


def parted(X: Any, y: Any, train: Any, test: Any) -> Parts:
    """Training and test data, the target in standard deviations of the training set."""
    y = (y - y[train].mean()) / y[train].std()
    return X[train], y[train], X[test], y[test]


def real(name: str, share: float) -> Callable[[int], Parts]:
    def make(seed: int) -> Parts:
        data = load(name)
        X, y = np.asarray(data.X, float), np.asarray(data.y, float)
        if name.startswith("poland"):
            X, y = X[data.split == "train"], y[data.split == "train"]
        count = round(share * len(y)) if share < 1 else int(share)
        order = np.random.default_rng(seed).permutation(len(y))
        order = np.arange(len(y)) if name.startswith("santafe") else order
        return parted(X, y, order[:count], order[count:])

    return make


def drawn(kind: str) -> Callable[[int], Parts]:
    def make(seed: int) -> Parts:
        random = np.random.default_rng(seed)
        n, d = 1994, 100
        mixing = random.standard_normal((d, 8))

        def values(shape: Any) -> Any:
            return random.standard_t(3, shape) if kind == "t3" else random.standard_normal(shape)

        factors = values((n, 8))
        Z = factors @ mixing.T / np.sqrt(8) + 0.7 * values((n, d))
        y = factors[:, 0] + 0.5 * np.tanh(factors[:, 1]) * factors[:, 2] + 0.3 * Z[:, 3]
        y += (0.6 if kind == "t3" else 0.8) * values(n)
        X = Z
        if kind == "mixed":
            X = np.where(np.arange(d) % 2, np.exp(1.2 * Z), Z)
        elif kind == "lognormal":
            X, y = np.exp(Z), np.exp(0.7 * y)
        return parted(X, y, np.arange(500), np.arange(500, n))

    return make


DRAWN = ("lognormal", "t3", "mixed")
SETS: dict[str, Callable[[int], Parts]] = {
    "lognormal, 500 x 100": drawn("lognormal"),
    "t3, 500 x 100": drawn("t3"),
    "mixed, 500 x 100": drawn("mixed"),
    "bank32nh, 600 x 32": real("bank32nh", 600),
    "diabetes, 309 x 10": real("diabetes", 0.7),
    "Boston, 354 x 13": real("boston_housing", 0.7),
    "Poland, 959 x 30": real("poland_electricity_lag30", 0.7),
    "Santa Fe, 1000 x 12": real("santafe_laser_lag12", 1000),
    "anthrokids, 713 x 53": real("anthrokids", 0.7),
    "wine spectra, 87 x 256": real("wine_spectra", 0.7),
}


def apart(told: Any, told_se: Any, tested: Any, tested_se: Any) -> Any:
    """Test error minus estimated error, in standard errors of the difference."""
    return (np.asarray(tested) - told) / np.hypot(told_se, tested_se)


def tested(model: Any, X: Any, y: Any) -> tuple[float, float]:
    losses = np.square(model.predict(X) - y)
    return float(losses.mean()), float(losses.std() / np.sqrt(len(losses)))


def row(name: str, seed: int, size: int, validation: Any) -> dict[str, Any]:
    """Estimated and test errors of one fit at sizes from 1 on, as lists."""
    X, y, X_test, y_test = SETS[name](seed)
    start = time.process_time()
    model = ELMFSRegressor(size, random_state=seed, n_threads=1, validation=validation).fit(X, y)
    seconds = time.process_time() - start
    path, sizes = model.path_, model.path_.sizes[1:]
    random, luck = np.random.default_rng(seed), []
    for _ in range(10):
        columns = random.choice(X.shape[1], min(3, X.shape[1]), replace=False)
        plain = ELMRegressor(30, ridge=0.01, random_state=seed, reach=np.inf).fit(X[:, columns], y)
        told = plain.loo_error_, plain.loo_error_se_
        luck.append(float(apart(*told, *tested(plain, X_test[:, columns], y_test))))
    at_size = [tested(model.at_size(k), X_test, y_test) for k in sizes]
    return {
        "set": [path.error(k) for k in sizes],
        "set_se": [path.error_se(k) for k in sizes],
        "honest": [path.honest_error(k) for k in sizes],
        "honest_se": [path.honest_error_se(k) for k in sizes],
        "test": [error for error, _ in at_size],
        "test_se": [error for _, error in at_size],
        "luck": float(np.median(luck)),
        "chosen": len(model.selected_),
        "seconds": seconds,
    }


def by(found: dict[str, Any], kind: str) -> Any:
    return apart(found[kind], found[f"{kind}_se"], found["test"], found["test_se"])


def line(name: str, seed: int, found: dict[str, Any]) -> str:
    cells = []
    columns = (found[key] for key in ("set", "honest", "test"))
    for a, b, c, y, z in zip(*columns, by(found, "set"), by(found, "honest"), strict=True):
        known = np.isfinite(z)
        told, off = (f" / {b:.3g}", f", {z:+.1f}") if known else ("", "")
        cells.append(f"{a:.3g}{told} / {c:.3g} ({y:+.1f}{off})")
    more = [f"{found['luck']:+.1f}", str(found["chosen"]), f"{found['seconds']:.0f}"]
    return "| " + " | ".join([name, str(seed), *cells, *more]) + " |"


def calibration(title: str, values: Any) -> str:
    values = values[np.isfinite(values)]
    return (
        f"| {title} | {len(values)} | {np.mean(np.abs(values) <= 1.5):.0%} | {np.mean(values <= 1.5):.0%} | "
        f"{np.median(values):+.1f} | {values.max():+.1f} |"
    )


def noise(samples: int, features: int, seeds: int, quick: bool) -> list[str]:
    """Selection on pure noise; if ``quick``, up to three features."""
    most = 3 if quick else None
    lines = []
    for seed in range(seeds):
        random = np.random.default_rng(seed)
        X, y = (
            random.standard_normal((2000 + samples, features)),
            random.standard_normal(2000 + samples),
        )
        model = ELMFSRegressor(most, random_state=seed, n_threads=1).fit(X[:samples], y[:samples])
        error = np.square(model.predict(X[samples:]) - y[samples:]).mean()
        least = model.path_.errors.min() / model.path_.error(0)
        lines.append(
            f"| {samples} x {features} | {seed} | {len(model.selected_)} | {least:.3f} | {error:.3f} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--size", type=int, default=6)
    parser.add_argument("--only", default="")
    parser.add_argument("--quick", action="store_true", help="without validation")
    parser.add_argument("--tiny", action="store_true", help="one set that is drawn, for a test")
    parser.add_argument("--parts", type=Path, help="where finished parts are kept")
    given = parser.parse_args()
    if given.tiny:
        given.quick, given.seeds, given.size = True, 1, 2
    names = [name for name in SETS if not given.only or name.split(",")[0] in given.only.split(",")]
    names = names[:1] if given.tiny else names
    with tempfile.TemporaryDirectory() as folder:
        parts = Kept(given.parts or Path(folder), {"row": ["src/sparsepath/elm", __file__]})
        found = {}
        for name in names:
            for seed in range(given.seeds):
                part = f"{name.split(',')[0]}-{seed}-{given.size}{'-quick' * given.quick}"
                how = None if given.quick else "auto"
                found[name, seed] = parts.get("row", part, row, name, seed, given.size, how)
                print(line(name, seed, found[name, seed]), flush=True)
        if not given.only:
            empty = parts.get(
                "row",
                f"noise{'-quick' * given.quick}",
                noise,
                200,
                20,
                1 if given.tiny else 5,
                given.quick,
            )
            save_page("elmfs-honest", page(found, given.size, empty))


def page(found: dict[tuple[str, int], dict[str, Any]], size: int, empty: list[str]) -> str:
    heads = ["data, training part", "seed", *(f"size {k + 1}" for k in range(size))]
    real = {key: each for key, each in found.items() if key[0].split(",")[0] not in DRAWN}
    groups = {"real": real, "simulated": {k: found[k] for k in found.keys() - real.keys()}}
    is_known = any(np.isfinite(f["honest"]).any() for f in found.values())
    measured = [
        calibration(f"{title}, {word}", np.concatenate([by(f, kind) for f in some.values()]))
        for title, some in groups.items()
        if some
        for word, kind in (("SET", "set"), ("honest error", "honest"))[: 1 + is_known]
    ]
    worst = max(max(np.divide(f["test"], f["set"])) for f in found.values())
    every = np.concatenate([by(f, "set") for f in found.values()])
    option = "" if is_known else " --quick"
    lines = [
        "# ELM-FS: the leave-one-out error and new data",
        "",
        f"Written by `python experiments/elmfs_honest.py{option}`.",
        "",
        "## What holds",
        "",
        "SET is the leave-one-out error that ELM-FS minimises. Use it to compare subsets; the honest error estimates the error on new data.",
        f"{np.mean(np.abs(every) <= 1.5):.0%} of the test errors are within 1.5 standard errors of SET; for an unbiased normal estimate it would be 87 %. The largest ratio",
        f"of test error to SET is {worst:.2f}. SET is too low on simulated problems, because the subset with the lowest value is chosen.",
        "",
        "Differences from the test error, in standard errors:",
        "",
        "| | number | within 1.5 | at most 1.5 above | median | largest |",
        "|---|---|---|---|---|---|",
        *measured,
        "",
        "## By data set",
        "",
        f'SET{" / honest error" if is_known else ""} / test error. In brackets: test error minus SET{" and minus honest error" if is_known else ""}, in standard errors of the difference. [Protocol](#protocol) explains "luck".',
        "",
        "| " + " | ".join([*heads, "luck", "chosen", "CPU s"]) + " |",
        "|---" * (size + 5) + "|",
        *(line(name, seed, each) for (name, seed), each in found.items()),
        "",
        "## Pure noise",
        "",
        "The number of features chosen by default, the lowest SET divided by the error of the empty model, and the test error (1 is the error of the true model).",
        "",
        "| samples x features | seed | chosen | lowest SET | test |",
        "|---|---|---|---|---|",
        *empty,
        "",
        "## Protocol",
        "",
        "The target is divided by its standard deviation in the training set. SET and test error belong to the same model. The honest error is",
        "that of the default validation: the full procedure is repeated on five folds. Rows without an honest error were run without",
        'validation. "Luck" is the median difference for ten models on three random columns. It shows by how much the test set happens to be',
        "harder than the training set.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
