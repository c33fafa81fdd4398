"""What the tests of this room share: problems made ready, and paths held against slow twins.

A path is checked step by step against refits: the error and standard error of every set, and that
no neighbour of the set before was better. Where the two choices differ, the twin itself must see a
tie, and the check goes on from the set that was chosen.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import settings
from numpy.testing import assert_allclose

from problems import Case
from slow_twins import rls
from sparsepath.data.blocks import DenseBlock
from sparsepath.rls.criteria.table import CLASSES, QUERIES
from sparsepath.rls.design import Design
from sparsepath.rls.driver import run
from sparsepath.rls.engines import make_design
from sparsepath.rls.history import SearchTrail
from sparsepath.rls.parameters import SearchSpec
from sparsepath.system.threads import Threads

RTOL = 1e-9
ATOL = 1e-13  # of the empty model's error: what rounding leaves of an error that vanishes
TIE = 1e-8
FORMS = {
    "squared": ("auto", "memory", "passes"),
    "absolute": ("memory", "passes"),
    "huber": ("memory", "passes"),
    "log_cosh": ("memory", "passes"),
    "zero_one": ("memory", "passes"),
    "balanced": ("memory", "passes"),
}
OTHERS = tuple(FORMS)[1:]
ABOUT = ("watch", "checkpoint", "sums")  # what a run is told that is no part of its task
LAYOUTS = ("one", "three", "uneven")


def examples(n: int) -> Any:
    """The number of examples in the usual profile; the thorough one has thirty times as many."""
    thorough = settings.get_current_profile_name() == "thorough"
    return settings(max_examples=30 * n if thorough else n)


def correlated(seed: int, m: int = 20, n: int = 9, alpha: float = 1e-3) -> Case:
    """A problem in which early choices are regretted: floating drops, swaps exchange."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, 4)) @ rng.standard_normal((4, n))
    X += 0.2 * rng.standard_normal((m, n))
    Y = X @ rng.standard_normal((n, 1)) + 0.5 * rng.standard_normal((m, 1))
    return Case(X, Y, alpha, None, f"correlated m={m} n={n} seed={seed}")


def weights_of(case: Case) -> np.ndarray:
    return np.ones(len(case.X)) if case.sw is None else case.sw


def design_of(
    X: Any, weights: Any = None, layout: str = "one", threads: int = 1, **options: Any
) -> Design:
    """The design of a problem, its rows in one block, in three, or in four uneven ones."""
    weights = np.ones(X.shape[0]) if weights is None else weights
    if layout != "uneven":
        n_blocks = 1 if layout == "one" else 3
        return make_design(X, weights, Threads(threads), n_blocks=n_blocks, **options)
    m = X.shape[0]
    edges = [0, 1, 3, m - 1, m]
    blocks = [DenseBlock(X, a, b) for a, b in pairwise(edges)]
    return Design(blocks, weights, Threads(threads), **options)


def search(design: Design, Y: Any, alpha: float, size: int, **options: Any) -> SearchTrail:
    """Run a search over all features but the forbidden ones; one that never ends is an error."""
    forbidden = options.pop("forbidden", ())
    about = {name: options.pop(name) for name in ABOUT if name in options}
    watch = about.pop("watch", None)
    candidates = tuple(i for i in range(design.n_features) if i not in forbidden)

    def limited(trail: SearchTrail) -> object:
        last = [(move.action, move.feature, move.error) for move in trail.moves[-8:]]
        assert len(trail.moves) <= 50 * design.n_features, f"no end in sight: {last}"
        return watch is not None and watch(trail)

    loss = options.pop("loss", "squared")
    if isinstance(loss, str):
        loss = (CLASSES if options.get("queries") is None else QUERIES)[loss]
    task = SearchSpec(size=size, candidates=candidates, loss=loss, **options)
    return run(design, Y, alpha, task, watch=limited, **about)


class Judge(rls.Search):
    """The twin's view of subsets: scores by refitting, each computed once."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._known: dict[tuple[int, ...], tuple[float, float]] = {}
        self._squares: dict[tuple[int, ...], float] = {}
        super().__init__(*args, **options)
        counted = self.X[self.sw > 0] if self.sw is not None else self.X
        if self.fit_intercept:  # what varies only where the weight is zero does not vary
            varies = counted.max(0) > counted.min(0)
        else:  # without an intercept a constant column is a feature like any other
            varies = (counted != 0).any(0)
            self.eligible = [i for i in range(self.X.shape[1]) if i not in self.forbidden]
        self.eligible = [i for i in self.eligible if varies[i]]

    def score(self, subset: Iterable[int]) -> tuple[float, float]:
        key = tuple(sorted(subset))
        if key not in self._known:
            self._known[key] = super().score(key)
        return self._known[key]

    def squared(self, subset: Iterable[int]) -> float:
        key = tuple(sorted(subset))
        if key not in self._squares:
            self._squares[key] = super().squared(key)
        return self._squares[key]

    def error_of(self, subset: Iterable[int]) -> float:
        return self.score(subset)[0]

    def near(self, value: float) -> float:
        """How far from ``value`` another error may lie and be called equal."""
        return TIE * value + 10 * ATOL * self.empty

    def settles(self, taken: Iterable[int], best: Iterable[int]) -> bool:
        """Whether the squared criterion lets one of two sets be taken whose counts are equal."""
        least = self.squared(best)
        slack = TIE * least + 10 * ATOL * self.empty_squared
        return not self.counts or self.squared(taken) <= least + slack


def judge_of(case: Case, loss: str = "squared", **options: Any) -> Judge:
    return Judge(case.X, case.Y, case.alpha, loss, sw=case.sw, **options)


def check_steps(
    trail: SearchTrail, judge: Judge, rtol: float = RTOL, se_rtol: float = 1e-7
) -> None:
    """Errors, standard errors and coefficients of every size are those of refits."""
    atol = ATOL * judge.empty
    for size, step in trail.steps.items():
        assert size == len(step.subset) == len(set(step.subset))
        value, se = judge.score(step.subset)
        assert_allclose(step.error, value, rtol=rtol, atol=atol, err_msg=f"error at {size}")
        se_atol = atol + se_rtol * value
        assert_allclose(step.error_se, se, rtol=rtol, atol=se_atol, err_msg=f"s.e. at {size}")
        check_model(step, judge)


def check_model(step: Any, judge: Judge, rtol: float = 1e-7) -> None:
    """Coefficients and intercept are those of a ridge fit, each in the size of its column."""
    X = judge.X[:, list(step.subset)]
    coef, intercept = rls.ridge(X, judge.Y, judge.alpha, judge.fit_intercept, judge.sw)
    sw = np.ones(len(X)) if judge.sw is None else judge.sw
    mean = sw @ X / sw.sum() if judge.fit_intercept else 0.0
    norms = np.sqrt(sw @ (X - mean) ** 2)[:, None]
    largest = np.abs(norms * coef).max(initial=0) + np.abs(judge.Y).max()
    assert step.coef.shape == coef.shape
    assert_allclose(norms * step.coef, norms * coef, rtol=rtol, atol=rtol * largest)
    # An intercept is as exact as the means that it takes off.
    offset = np.abs(mean * coef.T).max(initial=0)
    assert_allclose(step.intercept, intercept, rtol=rtol, atol=rtol * (largest + offset))


def check_choice(
    moves: dict[Any, tuple[int, ...]], taken: tuple[int, ...] | None, judge: Judge
) -> None:
    """The set taken is the best of the moves, or equal to it within a tie the twin sees."""
    best = judge.best(moves)
    if best is None:
        assert taken is None, f"{taken} was taken, but nothing is defined"
        return
    assert taken is not None, f"nothing was taken, but {best} is there"
    if set(taken) == set(best[1]):
        return
    value = judge.error_of(taken)
    assert value <= best[2] + judge.near(best[2]), f"{taken} ({value!r}) taken for {best[1:3]}"
    assert judge.settles(taken, best[1]), f"{taken} taken for {best[1]}, whose squares are less"


def check_forward(trail: SearchTrail, judge: Judge, size: int) -> None:
    """A forward path: every step the best addition there is."""
    check_steps(trail, judge)
    before: tuple[int, ...] = tuple(trail.start)
    assert set(before) == set(judge.forced)
    least = len(before)
    assert sorted(trail.steps) == list(range(least, least + len(trail.steps)))
    for k in range(least + 1, size + 1):
        taken = trail.steps[k].subset if k in trail.steps else None
        if taken is None and trail.stopped == "residuals vanished":
            return
        if judge.settled(before):
            assert taken is None
            assert trail.stopped == "no mistakes left"
            return
        if taken is not None:
            assert taken[:-1] == before
        check_choice({i: (*before, i) for i in judge.additions(before)}, taken, judge)
        if taken is None:
            return
        before = taken


class Replay:
    """The moves of a trail, made again one by one; every error is held against a refit."""

    def __init__(self, trail: SearchTrail, judge: Judge, rtol: float = RTOL) -> None:
        self.moves = list(trail.moves)
        self.subset: tuple[int, ...] = tuple(trail.start)
        self.judge, self.rtol = judge, rtol
        self.best: dict[int, float] = {len(self.subset): judge.error_of(self.subset)}

    @property
    def error(self) -> float:
        return self.judge.error_of(self.subset)

    def next_is(self, action: str) -> bool:
        return bool(self.moves) and self.moves[0].action == action

    def make(self) -> tuple[int, ...]:
        move = self.moves.pop(0)
        rest = tuple(i for i in self.subset if i != move.feature)
        assert (move.action == "add") == (rest == self.subset), f"{move} does not fit {self.subset}"
        self.subset = (*rest, move.feature) if move.action == "add" else rest
        atol = ATOL * self.judge.empty
        assert_allclose(move.error, self.error, rtol=self.rtol, atol=atol, err_msg=f"after {move}")
        known = self.best.get(len(self.subset), np.inf)
        self.best[len(self.subset)] = min(self.error, known)
        return self.subset


def check_best_kept(trail: SearchTrail, replay: Replay) -> None:
    """Every size that was met has a step, with the least error met at that size."""
    assert not replay.moves
    assert set(trail.steps) == set(replay.best)
    for size, least in replay.best.items():
        error = trail.steps[size].error
        assert abs(error - least) <= replay.judge.near(least)


def check_floating(
    trail: SearchTrail, judge: Judge, size: int, epsilon: float | None = None, rtol: float = RTOL
) -> int:
    """Floating RLS, decision by decision; return the number of removals.

    Without epsilon a removal must also beat the best set known of the smaller size.
    """
    check_steps(trail, judge, rtol)
    forced = len(judge.forced)
    replay = Replay(trail, judge, rtol)
    gain: dict[int, float] = {}
    n_drops = 0
    while len(replay.subset) < size:
        before = replay.error
        moves = {i: (*replay.subset, i) for i in judge.additions(replay.subset)}
        best = judge.best(moves)
        if best is None or (not replay.moves and trail.stopped == "residuals vanished"):
            break
        if judge.settled(replay.subset):
            assert not replay.moves
            assert trail.stopped == "no mistakes left"
            break
        c = len(best[1])
        gain[c] = before - best[2]
        if epsilon is not None:
            slack = judge.near(before)
            if gain[c] < epsilon - slack:
                assert trail.stopped == "epsilon"
                break
            if gain[c] < epsilon + slack and trail.stopped == "epsilon" and not replay.moves:
                break
        assert replay.next_is("add"), f"{replay.subset}: an addition was due"
        check_choice(moves, replay.make(), judge)
        while c > forced:
            removals = {
                i: tuple(j for j in replay.subset if j != i) for i in judge.removals(replay.subset)
            }
            best = judge.best(removals)
            if best is None:
                break
            margin = 0.5 * gain[c] - (best[2] - replay.error)
            if epsilon is None:
                better = replay.best.get(c - 1, np.inf) - best[2]
                margin = better if gain[c] <= 0 else min(margin, better)
            due, near = margin >= 0, abs(margin) <= judge.near(replay.error)
            dropped = replay.next_is("drop")
            assert near or due == dropped, f"{replay.subset}: drop {best}? margin {margin}"
            if not dropped:
                break
            n_drops += 1
            check_choice(removals, replay.make(), judge)
            c -= 1
    check_best_kept(trail, replay)
    return n_drops


def check_backward(trail: SearchTrail, judge: Judge, size: int, rtol: float = RTOL) -> None:
    """From all that may be chosen down to ``size``, each time without the one missed least."""
    check_steps(trail, judge, rtol)
    assert set(trail.start) == set(judge.eligible) | set(judge.forced)
    replay = Replay(trail, judge, rtol)
    while len(replay.subset) > size:
        removals = {
            i: tuple(j for j in replay.subset if j != i) for i in judge.removals(replay.subset)
        }
        taken = replay.make() if replay.next_is("drop") else None
        check_choice(removals, taken, judge)
        if taken is None:
            break
        assert set(trail.steps[len(taken)].subset) == set(taken)
    check_best_kept(trail, replay)


def check_swaps(trail: SearchTrail, judge: Judge, size: int, rtol: float = RTOL) -> int:
    """Forward, with the best exchange after each addition while it helps; number of exchanges."""
    check_steps(trail, judge, rtol)
    replay = Replay(trail, judge, rtol)
    n_swaps = 0
    while len(replay.subset) < size:
        moves = {i: (*replay.subset, i) for i in judge.additions(replay.subset)}
        if not replay.moves and trail.stopped == "residuals vanished":
            break
        if judge.settled(replay.subset):
            assert not replay.moves
            assert trail.stopped == "no mistakes left"
            break
        taken = replay.make() if replay.next_is("add") else None
        check_choice(moves, taken, judge)
        if taken is None:
            break
        while len(replay.subset) > len(judge.forced):
            before = replay.subset
            exchanges = {
                (i, j): (*(f for f in before if f != i), j)
                for i in judge.removals(before)
                for j in judge.additions(tuple(f for f in before if f != i))
                if j != i
            }
            best = judge.best(exchanges)
            gain = 0.0 if best is None else replay.error - best[2]
            swapped = replay.next_is("drop")
            near = abs(gain) <= judge.near(replay.error)
            assert near or (gain > 0) == swapped, f"{before}: exchange {best}?"
            if not swapped:
                break
            n_swaps += 1
            replay.make()
            check_choice(exchanges, replay.make(), judge)
    check_best_kept(trail, replay)
    return n_swaps


def same_steps(one: SearchTrail, other: SearchTrail, rtol: float = RTOL, atol: float = 0.0) -> None:
    """Two trails with equal sets and, to rounding, equal errors and models."""
    assert subsets(one) == subsets(other)
    for k, step in one.steps.items():
        again = other.steps[k]
        assert_allclose(again.error, step.error, rtol=rtol, atol=atol)
        assert_allclose(again.error_se, step.error_se, rtol=1e-6, atol=atol + 1e-7 * step.error)


def subsets(trail: SearchTrail) -> dict[int, tuple[int, ...]]:
    return {k: step.subset for k, step in sorted(trail.steps.items())}
