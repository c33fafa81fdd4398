"""Correction of a chosen error, permutation null, stability: each against a plain version."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.stats import binom
from sklearn.linear_model import LinearRegression

from slow_twins import judging as twin
from sparsepath import (
    InputError,
    LarsSelector,
    PathWarning,
    SparseRLSClassifier,
    SparseRLSRegressor,
)
from sparsepath.assessment import correction, permutation_null, stability
from sparsepath.assessment.held_out import HeldOutLosses
from sparsepath.assessment.honest import attach, chosen_size, honest_error, summarize
from sparsepath.assessment.null import p_values, shuffle
from sparsepath.assessment.stability_selection import nogueira, split_in_two
from sparsepath.path.choosing import places
from sparsepath.path.selection_path import SelectionPath
from sparsepath.path.steps import Step
from sparsepath.rls.leave_one_out.in_memory import InMemory
from sparsepath.rls.shared_moments import SharedParts


def matrix(seed, n=30, K=5):
    rng = np.random.default_rng(seed)
    common = rng.gamma(2.0, size=(n, 1))
    losses = common * rng.uniform(0.5, 1.5, (n, K)) * np.linspace(1.5, 0.8, K)
    return HeldOutLosses(
        tuple(range(K)),
        losses,
        np.full(n, 1 / n),
        np.arange(n),
        "5-fold",
        "squared error",
        np.linspace(0, 0.1, K),
        by_repeat=losses.mean(0) * rng.uniform(0.9, 1.1, (4, 1)),
    )


def path_of(found):
    steps = [Step(tuple(range(k)), 1.0) for k in found.sizes]
    return attach(SelectionPath(steps, n_features=len(found.sizes)), found)


@given(st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_one_se_is_paired(seed):
    found = matrix(seed)
    assert path_of(found).choose("one_se") == twin.paired_choice(found.losses)


@pytest.mark.parametrize("rule", ["min", "one_se", 0.1])
def test_correction_equals_loops(rule, monkeypatch):
    found, n = matrix(3, n=25), 25
    found = replace(found, losses=found.losses / np.linspace(1.5, 0.8, 5))  # chance decides
    rng = np.random.default_rng(correction.SEED)
    counts = rng.multinomial(n, np.full(n, 1 / n), 60)
    draws = [np.repeat(np.arange(n), row) for row in counts]

    def choose(losses):
        means = losses.mean(0)
        if rule == "min":
            return int(means.argmin())
        if rule == "one_se":
            return paired(losses)
        return int(np.argmax(means <= means.min() * 1.1))

    def paired(losses):  # the standard error of a draw, whose rows repeat: without n / (n - 1)
        best = losses.mean(0).argmin()
        gaps = losses - losses[:, [best]]
        se = gaps.std(0) / np.sqrt(len(losses))
        return int(np.argmax(gaps.mean(0) <= se + 1e-15))

    k, losses = choose(found.losses), found.losses
    luck = twin.drawn_luck(losses, draws, choose, k, losses[:, 0].mean())
    assert luck != 0
    of = correction.correct(found, rule, n_draws=60)
    assert of.error == pytest.approx(losses[:, k].mean() + luck)
    more = correction.BETWEEN * found.between[k] + found.by_repeat[:, k].var(ddof=1)
    expected = twin.drawn_interval(losses, draws, choose, k, of.error, more, 1.35)
    assert of.interval == pytest.approx(expected)
    assert of.figures == {}


def test_many_samples_are_drawn_in_bundles(monkeypatch):
    monkeypatch.setattr(correction, "MOST_BUNDLES", 100)
    found = matrix(0, n=1000)
    shares, totals = correction.bundles(found)
    assert len(shares) == 100
    np.testing.assert_allclose(totals.sum(0), found.errors)
    of = correction.correct(found, "min")
    assert of.interval[0] < of.error < of.interval[1]
    assert of.error == pytest.approx(found.errors.min(), rel=0.05)


@pytest.mark.parametrize("rule", ["min", "one_se", 1])
def test_no_mistake_among_few_samples_is_no_error_rate_of_zero(rule):
    n = 40
    losses = np.column_stack([np.arange(n) < 20, np.zeros(n)]).astype(float)
    binomial = binom.ppf(0.05, n, [0.07, 0.08])  # of which rates none in n is no surprise

    def record(metric):
        found = HeldOutLosses((0, 1), losses, np.full(n, 1 / n), np.arange(n), "5-fold", metric)
        made = summarize(found, chosen_size(found, rule), rule)
        path = attach(path_of(found), found)
        path.data["n_samples"] = n
        assert made.at(path, 1).interval == pytest.approx(made.interval)
        return made

    rate, exact = record("error rate"), record("squared error")
    assert (rate.error, rate.interval[0]) == (0, 0)
    assert 0.07 < rate.interval[1] < 0.08
    assert tuple(binomial) == (0, 1)
    assert exact.interval == (0, 0)


@pytest.mark.parametrize("mistakes", [1, 2, 4, 20])
@pytest.mark.parametrize("rule", ["min", "one_se"])
def test_few_mistakes_leave_room_for_more(mistakes, rule):
    """The upper end is where so few would be a surprise, or above; never the rate itself."""
    n = 200
    losses = np.column_stack([np.arange(n) < 90, np.arange(n) % (n // mistakes) == 0]) * 1.0
    found = HeldOutLosses((0, 1), losses, np.full(n, 1 / n), np.arange(n), "10-fold", "error rate")
    record = summarize(found, 1, rule)
    assert record.error == pytest.approx(mistakes / n, rel=0.1)
    low, high = record.interval
    assert low < record.error < high
    assert binom.cdf(mistakes, n, high) < 0.06
    assert binom.cdf(mistakes, n, 0.7 * high) > 0.06  # nor far above that


def test_an_error_without_spread_that_was_chosen_is_not_known_exactly():
    """A model that errs alike on every sample; another might be better."""
    rng = np.random.default_rng(0)
    losses = np.column_stack([np.full(10, 1.2), rng.exponential(1.1, 10)])
    found = HeldOutLosses(
        (1, 2), losses, np.full(10, 0.1), np.arange(10), "5-fold", "squared error"
    )
    record = summarize(found, 1, "one_se")
    assert record.interval[0] < 0.95 * record.error < 1.05 * record.error < record.interval[1]
    alone = HeldOutLosses(
        (0,), losses[:, :1], np.full(10, 0.1), np.arange(10), "5-fold", "squared error"
    )
    assert summarize(alone, 0, "one_se").interval == pytest.approx((1.2, 1.2))


def test_choosing_is_paid_for():
    """Of many equal sizes the least is lucky; the correction takes the luck away."""
    rng = np.random.default_rng(0)
    gaps = []
    for _ in range(40):
        losses = rng.exponential(size=(100, 30))
        found = HeldOutLosses(
            tuple(range(30)),
            losses,
            np.full(100, 0.01),
            np.arange(100),
            "5-fold",
            "squared error",
        )
        record = summarize(found, chosen_size(found, "min"), "min")
        gaps.append((found.errors.min() - 1, record.error - 1))
    naive, corrected = np.mean(gaps, axis=0)
    assert naive < -0.15
    assert abs(corrected) < 0.05


def test_few_samples_pay_more_for_the_choice(monkeypatch):
    """Models of all folds share what fits few samples by chance, which draws of rows leave out."""
    found = matrix(3, n=40)
    found = replace(found, losses=found.losses / np.linspace(1.5, 0.8, 5))
    least = found.errors.min()
    more = correction.correct(found, "min").error - least
    monkeypatch.setattr(correction, "FEW", 40)
    assert more == pytest.approx(2 * (correction.correct(found, "min").error - least))


def test_the_empty_model_is_reported_as_what_it_is():
    """Where draws would choose other sizes with wild losses, the empty model stays what it is."""
    rng = np.random.default_rng(0)
    losses = np.column_stack([np.full(40, 1.0), np.exp(3 * rng.standard_normal((40, 3)) - 2)])
    given = (np.full(40, 1 / 40), np.arange(40), "10-fold", "squared error")
    found = HeldOutLosses((0, 1, 2, 3), losses, *given)
    record = summarize(found, chosen_size(found, "one_se"), "one_se")
    assert record.size == 0
    assert (record.error, *record.interval) == pytest.approx((1.0, 1.0, 1.0))
    others = HeldOutLosses(
        (1, 2, 3, 4), losses, *given
    )  # the same losses, of a model that was chosen
    assert correction.correct(others, "one_se").interval != (1.0, 1.0)


@pytest.mark.parametrize("scale", [3, 6, 12, 30])
def test_wild_losses_leave_a_finite_interval(scale):
    """One loss may outweigh all others; the interval then says little, but stays one."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        losses = np.exp(scale * rng.standard_normal((30, 4)))
        losses[:, 0] = 1.0
        found = HeldOutLosses(
            (1, 2, 3, 4), losses, np.full(30, 1 / 30), np.arange(30), "5-fold", "squared error"
        )
        for rule in ("min", "one_se"):
            record = summarize(found, chosen_size(found, rule), rule)
            low, high = record.interval
            assert 0 <= record.error <= 3
            assert low <= record.error <= high < 1000 * record.error


def test_variation_between_assignments_widens_the_interval():
    found = matrix(4)
    steady = replace(found, by_repeat=np.repeat(found.errors[None], 4, 0))
    wide, narrow = (summarize(one, 4, "one_se") for one in (found, steady))
    assert narrow.repeats_sd == 0
    assert wide.repeats_sd == pytest.approx(found.by_repeat[:, 4].std(ddof=1))
    assert wide.error == narrow.error
    assert wide.interval[0] < narrow.interval[0] < narrow.interval[1] < wide.interval[1]
    wide, narrow = (path_of(one).step(4).honest_spread for one in (found, steady))
    assert wide**2 == pytest.approx(narrow**2 + found.by_repeat[:, 4].var(ddof=1))


def test_a_size_asked_for_is_not_corrected():
    found = matrix(1)
    record = summarize(found, 2, 2)
    assert record.size == 2
    assert record.error == pytest.approx(found.errors[2])
    assert record.interval[0] < record.error < record.interval[1]


@given(st.integers(0, 500), st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_p_value_by_counting(seed, K):
    rng = np.random.default_rng(seed)
    errors, null = rng.integers(0, 6, K) * 1.0, rng.integers(0, 6, (9, K)) * 1.0
    overall, per_size = p_values(errors, null)
    assert overall == pytest.approx(twin.path_p_value(errors, null))
    assert per_size.min() == overall


def test_null_on_noise_and_on_signal():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 20))
    noise, signal = rng.standard_normal(40), X[:, 3] + 0.5 * rng.standard_normal(40)
    model = SparseRLSRegressor(5, standardize=True)
    nothing = permutation_null(model, X, noise, 39)
    assert not nothing.anything
    assert nothing.sentence().startswith("No signal beyond noise")
    found = permutation_null(model, X, signal, 39)
    assert found.p_value == 1 / 40
    assert found.null_errors.shape == (39, 5)
    judged = honest_error(model, X, noise, null=39)
    assert judged.chosen.size == 0
    assert judged.chosen.is_nothing
    assert judged.chosen.p_value == nothing.p_value
    assert judged.is_nothing
    assert not honest_error(model, X, signal, choose=0).is_nothing, "none was asked for"
    without = honest_error(model, X, noise)
    assert without.is_nothing
    assert without.sentence().startswith("No signal beyond noise")


def test_p_values_are_uniform_on_noise():
    rng = np.random.default_rng(1)
    values = [
        permutation_null(
            LarsSelector(2),
            rng.standard_normal((25, 4)),
            rng.standard_normal(25),
            9,
            random_state=i,
        ).p_value
        for i in range(60)
    ]
    assert 0.02 <= np.mean(np.array(values) <= 0.1) <= 0.25
    assert 0.3 <= np.mean(np.array(values) <= 0.5) <= 0.72


def test_shuffled_within_groups():
    groups = np.repeat([0, 1, 2], 4)
    order = shuffle(np.random.default_rng(0), np.arange(12), groups)
    np.testing.assert_array_equal(groups[order], groups)
    assert sorted(order) == list(range(12))
    assert (order != np.arange(12)).any()


@pytest.mark.parametrize("labels", [False, True])
def test_targets_that_belong_to_groups_are_shuffled_between_them(labels):
    """Within groups every order of such a target is the target itself, and p would be one."""
    rng = np.random.default_rng(0)
    groups = np.repeat(["p", "q", "r", "s", "t", "u", "v", "w"], [3, 5, 4, 4, 4, 3, 6, 5])
    of = np.unique(groups, return_inverse=True)[1]
    values = rng.permutation(8) * 1.0
    y = (np.where(values > 3, "ill", "well") if labels else values)[of]
    orders = [shuffle(rng, y, groups) for _ in range(200)]
    for order in orders:
        got = [set(y[order][of == group]) for group in range(8)]
        assert all(len(one) == 1 for one in got)
        if not labels:
            assert sorted(min(one) for one in got) == sorted(values)
    firsts = [y[order][0] for order in orders]
    shares = [firsts.count(value) / 200 for value in dict.fromkeys(y)]
    assert np.allclose(shares, 1 / len(shares), atol=0.12)
    X = rng.standard_normal((34, 5)) + 2.0 * values[of, None] * [1, 0, 0, 0, 0]
    model = (SparseRLSClassifier if labels else SparseRLSRegressor)(2)
    assert permutation_null(model, X, y, 39, groups=groups).p_value <= 0.05
    assert not permutation_null(model, X[:, 1:], y, 39, groups=groups).anything


@given(st.integers(0, 500))
@settings(max_examples=30, deadline=None)
def test_index_by_counting(seed):
    rng = np.random.default_rng(seed)
    Z = rng.random((7, 9)) < 0.4
    Z[0, 0], Z[0, 1] = True, False
    subsets = [set(np.flatnonzero(row)) for row in Z]
    index, se = nogueira(Z)
    assert index == pytest.approx(twin.stability_index(subsets, 9))
    assert se**2 == pytest.approx(twin.stability_variance(subsets, 9))


def test_index_of_random_sets_is_zero_and_its_interval_holds():
    rng = np.random.default_rng(0)
    values = [nogueira(rng.random((30, 40)) < 0.25) for _ in range(200)]
    index, se = np.transpose(values)
    assert abs(index.mean()) < 0.01
    inside = np.abs(index) <= 1.645 * se
    assert 0.82 <= inside.mean() <= 0.97


def test_halves_are_complementary_and_stratified():
    labels = np.array([0] * 9 + [1] * 5 + [2] * 6)
    first, second = split_in_two(np.random.default_rng(0), 20, labels)
    assert sorted([*first, *second]) == list(range(20))
    for label in range(3):
        assert abs((labels[first] == label).sum() - (labels[second] == label).sum()) <= 1
    assert abs(len(first) - len(second)) <= 1
    groups = np.repeat(np.arange(6), 3)
    first, second = split_in_two(np.random.default_rng(0), 18, None, groups)
    assert not set(groups[first]) & set(groups[second])


def test_features_that_stand_in_for_each_other():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 8))
    X[:, 5] = X[:, 1] + 0.3 * rng.standard_normal(120)
    X[:, 1] += 0.3 * rng.standard_normal(120)
    y = 2 * X[:, 0] + X[:, 1] + X[:, 5] + 2 * rng.standard_normal(120)
    found = stability(SparseRLSRegressor(3, standardize=True), X, y, 60)
    assert found.stand_ins(2) == [("x1", "x5")]
    assert found.frequency(2)["x0"] > 0.9
    assert found.n_runs == 60
    with pytest.raises(InputError, match="threshold"):
        found.expected_false(2, 0.4)


class Recorder(LinearRegression):
    """Keeps the rows that it was given (their numbers are the first column) and what it chose."""

    seen = []  # noqa: RUF012

    def fit(self, X, y):
        best = np.argsort(-np.abs(X[:, 1:].T @ (y - y.mean())))[:2]
        self.support_ = np.isin(np.arange(X.shape[1]), 1 + best)
        self.seen.append((X[:, 0].astype(int), set(np.flatnonzero(self.support_))))
        return super().fit(X, y)

    def get_support(self):
        return self.support_


def test_stability_by_counting_over_complementary_halves():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(41), rng.standard_normal((41, 6))])
    Recorder.seen.clear()
    found = stability(Recorder(), X, X[:, 1] + X[:, 2] + 2 * rng.standard_normal(41), 12)
    rows, subsets = zip(*Recorder.seen, strict=True)
    for first, second in zip(rows[::2], rows[1::2], strict=True):
        assert sorted([*first, *second]) == list(range(41))
        assert abs(len(first) - len(second)) == 1
    assert len({tuple(half) for half in rows}) == 12
    names = [f"x{f}" for f in range(7)]
    counted = {names[f]: sum(f in s for s in subsets) / 12 for f in range(7)}
    assert found.frequency(2) == {name: part for name, part in counted.items() if part}
    half = 1.645 * twin.stability_variance(subsets, 7) ** 0.5
    index = twin.stability_index(subsets, 7)
    assert found.interval(2) == pytest.approx((index - half, min(1, index + half)), rel=1e-3)
    for threshold in (0.6, 0.75, 1.0):
        expected = twin.false_features(subsets, 7, threshold)
        assert found.expected_false(2, threshold) == pytest.approx(expected)
    firm = sum(part >= 0.75 for part in counted.values())
    noise = twin.false_features(subsets, 7, 0.75)
    bound = f"; chance alone would give at most {noise:.2g}." if noise < firm else "."
    assert f"of the halves: {firm or 'none'}{bound}" in found.sentence()


class Told(LinearRegression):
    """Chooses what it is told to, one set after another."""

    sets = []  # noqa: RUF012

    def fit(self, X, y):
        self.support_ = np.isin(np.arange(X.shape[1]), list(self.sets.pop(0)))
        return super().fit(X, y)

    def get_support(self):
        return self.support_


@given(st.integers(0, 2000))
@settings(max_examples=30, deadline=None)
def test_interchangeable_features_by_their_definition(seed):
    """Whatever is chosen: exact copies, and correlated ones of which mostly one is taken."""
    rng = np.random.default_rng(seed)
    n, d, M = 14, 8, int(rng.choice([10, 20, 40]))
    X = rng.standard_normal((n, d))
    X[:, 3] = X[:, 2] + rng.choice([0.1, 1.0, 3.0]) * rng.standard_normal(n)
    X[:, :2] += 2 * X[:, [2]]  # hardly ever chosen
    X[:, 5] = 4 - 2 * X[:, 4]
    X[:, 7] = X[:, 6] + X[:, 2] + rng.choice([0.1, 1.0]) * rng.standard_normal(n)
    share = rng.random()
    sets = []
    for _ in range(M):
        one = {f for f in range(2, d) if rng.random() < 0.5 * share}
        one |= {2, 3} if rng.random() < 0.1 * share else {int(rng.choice([2, 3, 7]))}
        sets.append(one)
    Told.sets = [*sets]
    found = stability(Told(), X, rng.standard_normal(n), M)
    [size] = found.sizes
    expected = {frozenset(f"x{f}" for f in s) for s in twin.interchangeable(sets, X.T)}
    assert {frozenset(names) for names in found.stand_ins(size)} == expected
    index = twin.stability_index(sets, d)
    assert found.index(size) == pytest.approx(index)
    half = 1.6448536269514722 * twin.stability_variance(sets, d) ** 0.5
    assert found.interval(size) == pytest.approx((index - half, min(1.0, index + half)))
    noise = twin.false_features(sets, d, 0.75)
    assert found.expected_false(size) == pytest.approx(noise)


def test_false_features_are_as_few_as_the_bound_says():
    """Of exchangeable noise, complementary halves: firm features stay below q^2 / ((2 pi - 1) d).

    A few true ones beside them, which use up places, change nothing of that.
    """
    rng = np.random.default_rng(0)
    d, true, size = 30, 2, 6

    class TopOfAll(LinearRegression):
        def fit(self, X, y):
            best = np.argsort(-np.abs((X - X.mean(0)).T @ (y - y.mean())))[:size]
            self.support_ = np.isin(np.arange(d), best)
            return self

        def get_support(self):
            return self.support_

    for threshold in (0.6, 0.75, 0.9):
        firm, bounds = [], []
        for seed in range(40):
            X = rng.standard_normal((60, d))
            y = 3 * X[:, :true].sum(1) + rng.standard_normal(60)
            found = stability(TopOfAll(), X, y, 20, random_state=seed)
            often = found.frequencies[0] >= threshold
            firm.append(often[true:].sum())
            bounds.append(found.expected_false(found.sizes[0], threshold))
        assert np.mean(firm) <= np.mean(bounds)
        assert np.mean(firm) > 0 or threshold == 0.9, "the bound is put to a test"


@pytest.mark.parametrize("spread", [0.5, 5.0])
def test_intervals_of_the_index_hold_what_many_more_runs_come_to(spread):
    """Features that are chosen with chances of their own: the index of infinitely many runs."""
    rng = np.random.default_rng(1)
    chances = rng.beta(spread, spread, 25)
    share = chances.mean()
    truth = 1 - (chances * (1 - chances)).mean() / (share * (1 - share))
    inside = []
    for _ in range(300):
        index, se = nogueira(rng.random((40, 25)) < chances)
        inside.append(abs(index - truth) <= 1.645 * se)
    assert 0.85 <= np.mean(inside) <= 0.95


@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_copies_stand_in_for_each_other_and_near_copies_too(make):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 9))
    X[:, 6], X[:, 8] = X[:, 1], 5 - 3 * X[:, 1]  # a copy, and one in other units
    X[:, 7] = X[:, 2] + 0.2 * rng.standard_normal(90)
    X[:, 2] += 0.2 * rng.standard_normal(90)
    y = 2 * X[:, 1] + X[:, 2] + X[:, 7] + 1.5 * rng.standard_normal(90)
    found = stability(LarsSelector(3), make(X), y, 60)
    assert found.stand_ins(2) == [("x1", "x6", "x8"), ("x2", "x7")]
    first = stability(SparseRLSRegressor(2, forbidden=[8]), make(X), y, 20)
    assert "x6" not in first.frequency(2), "of equal columns the first is taken every time"
    assert ("x1", "x6", "x8") in first.stand_ins(2)


@pytest.mark.parametrize("wrong", [0, 3, 2.0, "4"])
def test_bad_numbers_of_halves(wrong):
    with pytest.raises(InputError, match="n_halves"):
        stability(LarsSelector(), np.eye(4), np.arange(4.0), wrong)


def test_the_same_for_the_same_seed():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 5)), rng.standard_normal(30)
    one, two = (stability(LarsSelector(2), X, y, 6, random_state=4) for _ in range(2))
    np.testing.assert_array_equal(one.frequencies, two.frequencies)
    other = stability(LarsSelector(2), X, y, 6, random_state=5)
    assert (one.frequencies != other.frequencies).any()


def test_places_by_rule():
    errors = np.array([[3.0, 2.0, 1.0, 1.05], [-1.0, -2.0, -2.1, -2.0]])
    none = lambda best: np.zeros(errors.shape)  # noqa: E731
    assert places("min", errors, none).tolist() == [2, 2]
    assert places(1.0, errors, none).tolist() == [1, 0]
    assert places("one_se", errors, lambda best: np.full(errors.shape, 2.5)).tolist() == [0, 0]
    with pytest.raises(InputError, match="cannot choose"):
        places(None, errors, none)


def test_groups_reach_the_fit():
    from sklearn.model_selection import LeaveOneGroupOut

    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    y, groups = X[:, 0] + rng.standard_normal(40), np.arange(40) % 8
    model = SparseRLSRegressor(2, cv=LeaveOneGroupOut())
    assert permutation_null(model, X, y, 2, groups=groups).null_errors.shape == (2, 2)
    assert stability(model, X, y, 4, groups=groups).n_runs == 4
    assert honest_error(model, X, y, validation=4, groups=groups).sizes == (0, 1, 2)


def test_interrupted_repetitions_keep_whole_ones_only(monkeypatch):
    X = np.random.default_rng(0).standard_normal((40, 3))
    search, fits = SparseRLSRegressor._fit, 0

    def impatient(self, *given):
        nonlocal fits
        fits += 1
        if fits % 4 == 0:
            raise KeyboardInterrupt
        return search(self, *given)

    monkeypatch.setattr(SparseRLSRegressor, "_fit", impatient)
    monkeypatch.setattr(SparseRLSRegressor, "_search_many", None)  # one search after another
    model = SparseRLSRegressor(2)
    assert len(permutation_null(model, X, X[:, 0], 9).null_errors) == 2
    assert stability(model, X, X[:, 0], 10).n_runs == 3
    with pytest.warns(PathWarning, match="5-fold, 3 of 5 parts"):
        honest_error(model, X, X[:, 0], validation=5)


@pytest.mark.parametrize("engine", ["InMemory.path", "SharedParts.search"])
def test_interrupted_searches_that_are_made_together_keep_whole_ones(engine, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((70, 1000)), rng.standard_normal(70)
    owner, name = {"InMemory.path": (InMemory, "path")}.get(engine, (SharedParts, "search"))
    search, calls = getattr(owner, name), 0

    def impatient(*given, **more):
        nonlocal calls
        calls += 1
        if calls == 8:
            raise KeyboardInterrupt
        return search(*given, **more)

    monkeypatch.setattr(owner, name, impatient)
    model = SparseRLSRegressor(2, n_threads=1)
    if owner is InMemory:
        assert len(permutation_null(model, X, y, 30).null_errors) == 5  # the data and five of them
    else:
        assert stability(model, X, y, 30).n_runs == 6  # seven, in turns of two
