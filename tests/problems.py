"""Small problems for the tests: fixed ones, and hypothesis strategies that draw them.

All data come from ``np.random.default_rng(seed)`` with a drawn seed, so that a failing case shrinks
to a small shape, a plain kind and a small seed, and is named by them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

Array = NDArray[np.float64]

KINDS = (
    "tall",
    "wide",  # more features than samples
    "duplicate",  # some columns repeat earlier ones
    "constant",  # some columns are constant, at zero or elsewhere
    "collinear",  # some columns repeat earlier ones but for noise of 1e-4
    "scaled",  # columns times 1e-8 to 1e8
    "targets",  # three targets (three classes)
    "ties",  # small integers, many equal errors
    "offset",  # columns with mean 1e4 and standard deviation 1
    "sparse",  # four values in five are zero
)
ALPHAS = (1.0, 0.1, 10.0, 0.001, 1e3, 1e-5)


@dataclass(frozen=True, eq=False)
class Case:
    """X is m x n, Y is m x T, sw is None or m weights (some zero)."""

    X: Array
    Y: Array
    alpha: float
    sw: Array | None
    name: str

    def __repr__(self) -> str:
        return f"Case({self.name})"


def make(
    kind: str = "tall",
    m: int = 12,
    n: int = 5,
    T: int = 1,
    alpha: float = 1.0,
    weighted: bool = False,
    seed: int = 0,
    classification: bool = False,
) -> Case:
    """The problem with these parameters; T > 1 classes are coded +-1, one against the rest.

    Every class has two samples of positive weight at least. Needs m >= 6, and m >= 2 T classes.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    if kind == "ties":
        X = rng.integers(0, 2 + seed % 2, (m, n)).astype(float)
    elif kind == "sparse":
        X *= rng.random((m, n)) < 0.2
    elif kind == "constant":
        X[:, rng.random(n) < 0.3] = rng.integers(0, 3)
        X[:, rng.integers(n)] = rng.integers(0, 3)
    elif kind in ("duplicate", "collinear"):
        for j in range(1, n):
            if j == n - 1 or rng.random() < 0.4:
                noise = 1e-4 * rng.standard_normal(m) if kind == "collinear" else 0
                X[:, j] = X[:, rng.integers(j)] + noise

    signal = rng.standard_normal((n, T)) * (rng.random((n, 1)) < 0.5)
    Y = X @ signal + rng.normal(0.3, 0.7, (m, T))
    label = np.zeros(m, dtype=int)
    if classification:
        label, Y = _classes(Y[:, 0], max(T, 2), rng)
    elif kind == "ties":
        Y = np.round(Y)

    if kind == "scaled":
        X = X * 10.0 ** rng.integers(-8, 9, n)
    elif kind == "offset":
        X = X + 1e4 * rng.choice([-1, 1], n)

    sw = None
    if weighted:
        sw = rng.choice([0.0, 0.5, 1.0, 2.0, 3.7], m)
        keep = 2 if classification else 5
        for c in np.unique(label):
            sw[np.flatnonzero(label == c)[:keep]] = 1.0
    name = f"{kind} m={m} n={n} T={T} alpha={alpha:g} seed={seed}" + " weighted" * weighted
    return Case(X, Y, alpha, sw, name + " classes" * classification)


def _classes(score: Array, K: int, rng: np.random.Generator) -> tuple[NDArray[np.int_], Array]:
    """Labels by the rank of the score, two samples each at least, and their +-1 coding."""
    sizes = 2 + rng.multinomial(len(score) - 2 * K, [1 / K] * K)
    label = np.empty(len(score), dtype=int)
    label[np.argsort(score)] = np.repeat(np.arange(K), sizes)
    coding = np.where(label[:, None] == np.arange(K), 1.0, -1.0)
    return label, coding[:, 1:] if K == 2 else coding


@st.composite
def problems(
    draw: st.DrawFn,
    kinds: Sequence[str] = KINDS,
    alphas: Sequence[float] = ALPHAS,
    weights: bool = True,
    classification: bool = False,
    max_m: int = 25,
    max_n: int = 12,
) -> Case:
    """Draw a `Case`: 6 to ``max_m`` samples and 1 to ``max_n`` features of one of the kinds.

    Tall ones have fewer features than samples less two, wide ones (if ``max_n`` is above 6) more
    features than samples. Classes are two or three, targets one or, of the kind "targets", three.
    """
    kind = draw(st.sampled_from(kinds))
    n_min = 2 if kind in ("duplicate", "collinear") else 1
    if kind == "wide" and max_n > 6:
        max_m = min(max_m, max_n - 1)
    m = draw(st.integers(6, max_m))
    if kind == "tall":
        max_n = min(max_n, m - 3)
    elif kind == "wide":
        n_min = min(m + 1, max_n)
    many = kind == "targets" or (classification and draw(st.booleans()))
    return make(
        kind,
        m,
        draw(st.integers(n_min, max_n)),
        3 if many else 1,
        draw(st.sampled_from(alphas)),
        weights and draw(st.booleans()),
        draw(st.integers(0, 10_000)),
        classification,
    )


def classification(**options: object) -> st.SearchStrategy[Case]:
    """Draw a `Case` with two classes (Y is +-1) or three (one against the rest)."""
    return problems(classification=True, **options)


def fixed(classification: bool = False) -> list[Case]:
    """One problem of every kind, every second one weighted."""
    return [
        make(
            kind,
            m=8 if kind == "wide" else 15,
            n=11 if kind == "wide" else 7,
            T=3 if kind == "targets" else 1,
            alpha=ALPHAS[seed % 3],
            weighted=bool(seed % 2),
            seed=seed,
            classification=classification,
        )
        for seed, kind in enumerate(KINDS)
    ]
