"""How searches begin, end and go on: copies, stop rules, checkpoints, and which size is taken."""

import copy
import json
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import KFold

from sparsepath import (
    FileError,
    InputError,
    PathWarning,
    SparseRankRLS,
    SparseRLSClassifier,
    SparseRLSRegressor,
    rls_state,
)
from sparsepath.path.selection_path import LONGEST_PATH
from sparsepath.rls import MaxT, PastOneSE, Patience, TimeLimit, Tolerance
from sparsepath.rls.constraints import Constraints
from sparsepath.rls.history import SearchTrail
from sparsepath.rls.model import SearchEngine
from sparsepath.rls.search import with_swaps
from sparsepath.rls.update import Update
from sparsepath.system.json_files import canonical, checksum

SEARCHES = ("forward", "floating", "backward", "swap")


def noise(m=100, n=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, n)), rng


def plain(path):
    """What a run leaves but for the clock."""
    moves = [(move.action, move.feature, move.error) for move in path.moves]
    return moves, path.subsets, path.errors.tolist(), path.stopped


# --- exchanges come to an end ---------------------------------------------------------------------


@pytest.mark.parametrize("cv", ["loo", 5])
@pytest.mark.parametrize("kind", ["copies", "near copies", "large"])
def test_exchanges_end_where_the_target_is_fitted_exactly(kind, cv):
    def limited(path):
        assert len(path.moves) < 100, f"no end in sight: {path.moves[-4:]}"

    for seed in range(6):
        X, rng = noise(60, 4, seed)
        X = np.c_[X, X + 1e-9 * rng.standard_normal(X.shape) * (kind == "near copies")]
        y = X[:, 0] + X[:, 1]
        X, alpha = (X * 1e5, 1.0) if kind == "large" else (X, 0.0)
        model = SparseRLSRegressor(
            3, search="swap", cv=cv, alpha=alpha, callback=limited, choose="min"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PathWarning)
            path = model.fit(X, y).path_
        met = [frozenset(subset) for subset in path.replay()]
        whole = [s for s, move in zip(met, path.moves, strict=True) if move.action == "add"]
        assert len(set(whole)) == len(whole)
        assert {i % 4 for i in path.subset(2)} == {0, 1}


class Restless(SearchEngine):
    """A model whose criterion falls with every addition, as rounding may make it seem."""

    vanished, empty_error, costs = False, 1.0, None

    def __init__(self):
        self.chosen, self.error = [], 1.0

    def best_addition(self, features=None):
        return Update("add", int(features[0]), 0.9 * self.error) if len(features) else None

    def best_removal(self, features=None, below=np.inf):
        return None

    def add(self, feature):
        self.chosen, self.error = [*self.chosen, feature], 0.9 * self.error

    def drop(self, feature):
        self.chosen = [i for i in self.chosen if i != feature]

    def duplicate(self):
        return copy.copy(self)

    def standard_error(self):
        return 0.0

    def coef(self):
        return np.zeros((len(self.chosen), 1))

    def intercept(self):
        return np.zeros(1)


def test_no_set_is_met_twice_by_exchanges():
    def watch(trail):
        assert len(trail.moves) < 60, "no end in sight"

    model, trail = Restless(), SearchTrail()
    trail.equip(watch)
    trail.begin(model)
    with_swaps(model, trail, Constraints(range(4), np.zeros(4, bool), most=2))
    whole = [after for update, _, after in trail.history() if update.action == "add"]
    assert len(set(whole)) == len(whole) > 4
    assert trail.stopped == "max_features"


# --- stop rules -----------------------------------------------------------------------------------


def test_rules_are_asked_after_whole_exchanges():
    rng = np.random.default_rng(0)
    a, b, c = rng.standard_normal((3, 200))
    X = np.column_stack([a + b + 0.5 * rng.standard_normal(200), a, b, c])
    y = a + b + 0.3 * c + 0.1 * rng.standard_normal(200)
    free = SparseRLSRegressor(search="swap").fit(X, y).path_
    assert "drop" in {move.action for move in free.moves}
    for rule in (PastOneSE(), Patience(1)):
        path = SparseRLSRegressor(search="swap", stop=rule).fit(X, y).path_
        assert path.moves[-1].action == "add"
        assert min(path.errors) == min(free.errors)
    told = []

    def rule(trail):
        told.append((trail.moves[-1].action, trail.errors[-1]))

    SparseRLSRegressor(search="swap", stop=rule).fit(X, y)
    assert told == [("add", move.error) for move in free.moves if move.action == "add"]


@pytest.mark.parametrize("search", SEARCHES)
def test_a_group_is_one_update_for_the_rules(search):
    X, rng = noise(200, 12)
    y = X @ np.repeat([4, 3, 2, 1], 3) + rng.standard_normal(200)
    groups = np.repeat(range(4), 3)
    free = SparseRLSRegressor(feature_groups=groups, search=search).fit(X, y).path_
    lowered = 1 - free.errors[1:] / free.errors[:-1]  # by the first group, the second, ...
    assert (lowered > 0.1).all()
    assert (lowered > 0.7).tolist() == [False, False, True, True]

    def path(rule):
        options = {"feature_groups": groups, "search": search, "stop": rule}
        return SparseRLSRegressor(**options).fit(X, y).path_

    if search == "backward":  # every removal is missed
        assert path(Patience(2)).sizes == (6, 9, 12)
        assert path(Tolerance(0.1)).sizes == path(Tolerance(0.7)).sizes == (9, 12)
    else:
        assert path(Patience(2)).subsets == path(Patience(1)).subsets == free.subsets
        assert path(Tolerance(0.1)).subsets == free.subsets
        assert path(Tolerance(0.7)).sizes == (0, 3)


def test_tolerance_backward_keeps_what_helps():
    X, rng = noise(200, 10)
    y = X[:, :3] @ [3.0, 2.0, 1.0] + rng.standard_normal(200)
    path = SparseRLSRegressor(search="backward", stop=Tolerance(0.1)).fit(X, y).path_
    assert path.stopped == "tolerance"
    assert path.sizes == tuple(range(2, 11))  # the first that was missed is the last to go
    assert set(path.subset(3)) == {0, 1, 2}


def test_rules_count_from_the_start_set_on():
    X, rng = noise(40, 8)
    y = X[:, :3].sum(1) + rng.standard_normal(40)
    told = []
    options = {"start": [4, 5, 6], "choose": "min"}
    path = (
        SparseRLSRegressor(stop=lambda trail: told.append(list(trail.errors)), **options)
        .fit(X, y)
        .path_
    )
    assert told[0] == [path.moves[2].error, path.moves[3].error]
    assert len(told) == len(path.moves) - 3


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("rule", [Tolerance(0.02), Patience(1), PastOneSE(), TimeLimit(0.0)])
def test_a_search_that_a_rule_ended_ends_the_same_when_run_again(tmp_path, search, rule):
    X, rng = noise(120, 14)
    y = X[:, :6] @ rng.standard_normal(6) + rng.standard_normal(120)
    file = tmp_path / "checkpoint"
    model = SparseRLSRegressor(12, search=search, stop=rule, choose="min", checkpoint=file)
    if search == "backward" and rule == TimeLimit(0.0):
        model.set_params(max_features=None)
    first = plain(model.fit(X, y).path_)
    for _ in range(3):
        assert plain(model.fit(X, y).path_) == first
    # The rules are no part of the problem: without them the search goes on to its end.
    free = SparseRLSRegressor(model.max_features, search=search, choose="min").fit(X, y).path_
    assert plain(model.set_params(stop=()).fit(X, y).path_) == plain(free)
    # And the file keeps what it has when a rule ends the run before.
    before = file.read_bytes()
    assert plain(model.set_params(stop=rule).fit(X, y).path_) == first
    assert file.read_bytes() == before


def test_two_tests_joined_are_asked_before_the_first_feature():
    X, rng = noise()
    y = rng.standard_normal(100)
    for rule in (MaxT(0.05), MaxT(0.05) & MaxT(0.05)):
        assert SparseRLSRegressor(stop=rule).fit(X, y).path_.sizes == (0,)


def test_what_an_exchange_lets_in_is_tested():
    asked = []

    class Third(MaxT):
        def begin(self, design, Y, alpha):
            return self

        def before(self, trail, model, update, candidates):
            asked.append((len(model.chosen), update.feature, sorted(candidates)))
            return "no" if len(asked) == 3 else None

    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 200))
    X = np.column_stack([a + b + 0.5 * rng.standard_normal(200), a, b])
    y = a + b + 0.1 * rng.standard_normal(200)
    path = SparseRLSRegressor(search="swap", stop=Third(), choose="min").fit(X, y).path_
    assert [size for size, _, _ in asked] == [0, 1, 1]
    _, feature, candidates = asked[-1]
    assert feature in candidates
    assert 0 not in candidates  # the one that would leave
    assert path.stopped == "no"
    assert [move.action for move in path.moves] == ["add", "add"]


# --- going on -------------------------------------------------------------------------------------


def test_floating_with_groups_goes_on_to_the_same_path(tmp_path):
    X, rng = noise(60, 24, seed=3)
    X[:, 3:] += X[:, :21] * 0.9
    y = X[:, [0, 5, 9, 14, 20]].sum(1) + rng.standard_normal(60)
    groups = rng.integers(0, 9, 24)

    def fit(**more):
        model = SparseRLSRegressor(20, search="floating", feature_groups=groups, choose="min")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PathWarning)
            return model.set_params(**more).fit(X, y).path_

    whole = fit()
    for cut in range(1, len(whole.moves)):
        file = tmp_path / f"{cut}"
        fit(checkpoint=file, callback=lambda path, cut=cut: len(path.moves) >= cut)
        assert plain(fit(checkpoint=file)) == plain(whole)


def test_backward_with_groups_and_a_start_set_goes_on(tmp_path):
    X, rng = noise()
    y = rng.standard_normal(100)
    options = {"search": "backward", "feature_groups": [0, 0, 1, 2, 3], "start": [0, 2, 3]}
    model = SparseRLSRegressor(**options, checkpoint=tmp_path / "file")
    assert plain(model.fit(X, y).path_) == plain(model.fit(X, y).path_)
    assert model.path_.start == (0, 1, 2, 3)


def test_the_clock_goes_on_from_the_earlier_run(tmp_path):
    X, rng = noise(60, 8)
    y = rng.standard_normal(60)
    file = tmp_path / "file"
    SparseRLSRegressor(8, checkpoint=file, callback=lambda path: len(path.moves) == 3).fit(X, y)
    moves = SparseRLSRegressor(8, checkpoint=file, choose="min").fit(X, y).path_.moves
    assert [move.seconds for move in moves] == sorted(move.seconds for move in moves)


def test_a_checkpoint_that_cannot_be_written_does_not_lose_the_path(tmp_path, monkeypatch):
    X, rng = noise()
    y = rng.standard_normal(100)
    file = tmp_path / "checkpoint"

    def full(*_):
        raise FileError(f"cannot write {file}: no space left on device.")

    def fill(path):
        monkeypatch.setattr("sparsepath.rls.checkpoint.replacing", full)

    model = SparseRLSRegressor(checkpoint=file, choose="min", callback=fill)
    with pytest.warns(PathWarning, match="out of date: cannot write .* continues without"):
        path = model.fit(X, y).path_
    assert plain(path) == plain(SparseRLSRegressor(choose="min").fit(X, y).path_)
    with pytest.raises(FileError, match="no space"):  # from the start it is a mistake
        model.set_params(checkpoint=tmp_path / "other").fit(X, y)


@pytest.mark.parametrize("cv", ["loo", 5])
@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_groups_of_copies_are_not_added_for_ever(search, cv, loss):
    X, rng = noise(30, 4)
    X, y = np.c_[X, X[:, :3]], X[:, 0] + rng.standard_normal(30)
    calls = []

    def limited(path):
        calls.append(path)
        assert len(calls) < 100, "no end in sight"

    options = {"feature_groups": [0, 1, 1, 2, 3, 4, 4], "callback": limited, "loss": loss}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PathWarning)
        path = SparseRLSRegressor(alpha=0.0, cv=cv, search=search, **options).fit(X, y).path_
    assert path.sizes[-1] == 4
    assert len(set(map(frozenset, path.subsets))) == len(path.subsets)


# --- where a backward search begins ---------------------------------------------------------------


@pytest.mark.parametrize("cv", ["loo", 4])
def test_backward_leaves_copies_out_by_name(cv):
    import pandas as pd

    X, rng = noise(40, 4)
    y = X[:, 0] - X[:, 2] + rng.standard_normal(40)
    frame = pd.DataFrame(np.c_[X, X[:, 0], X[:, 1] + X[:, 2]], columns=list("abcdef"))
    options = {"search": "backward", "alpha": 0.0, "cv": cv, "choose": "min"}
    with pytest.warns(PathWarning, match="starts without 'e', 'f': collinear"):
        path = SparseRLSRegressor(**options).fit(frame, y).path_
    short = SparseRLSRegressor(**options).fit(X, y).path_
    assert path.subsets == short.subsets
    np.testing.assert_allclose(path.errors, short.errors, rtol=1e-10)
    with pytest.warns(PathWarning, match="starts without 'a', 'f'"):  # what is forced comes first
        path = SparseRLSRegressor(forced=["e"], **options).fit(frame, y).path_
    assert all(4 in subset for subset in path.subsets)
    with pytest.warns(PathWarning, match="starts without 'a', 'd', 'f'"):  # a child goes along
        SparseRLSRegressor(forced=["e"], parents={"d": ["a"]}, **options).fit(frame, y)
    forward = {"alpha": 0.0, "cv": cv, "choose": "min", "max_features": 3}
    with pytest.warns(PathWarning, match="start set starts without 'e'"):
        SparseRLSRegressor(start=["a", "e"], **forward).fit(frame, y)
    with pytest.raises(InputError, match=r"forced: column 'e' is collinear .* larger alpha"):
        SparseRLSRegressor(forced=["a", "e"], **options).fit(frame, y)


def test_backward_from_more_columns_than_samples_says_what_to_do():
    X, rng = noise(10, 20)
    y = rng.standard_normal(10)
    for cv in ("loo", 3):
        with pytest.raises(InputError, match=r"20 are more than the \d that .* larger alpha"):
            SparseRLSRegressor(search="backward", alpha=0.0, cv=cv).fit(X, y)
    SparseRLSRegressor(search="backward", alpha=0.1).fit(X, y)
    some = {"search": "backward", "alpha": 0.0, "start": range(5)}
    assert SparseRLSRegressor(**some).fit(X, y).path_.sizes == tuple(range(6))


def test_backward_begins_without_what_does_not_vary_in_a_training_part():
    for seed in range(12):
        X, rng = noise(40, 4, seed)
        rare = np.where(np.arange(40) < 2, rng.normal(), rng.normal())  # only in the first fold
        y = X[:, 0] + rng.standard_normal(40)
        options = {"search": "backward", "alpha": 0.0, "cv": KFold(5), "choose": "min"}
        with pytest.warns(PathWarning, match="starts without '4': collinear"):
            path = SparseRLSRegressor(**options).fit(np.c_[X, rare], y).path_
        assert plain(path)[1] == plain(SparseRLSRegressor(**options).fit(X, y).path_)[1]


def test_backward_that_cannot_begin_says_so_without_warnings_of_numpy():
    for seed in range(20):
        X, rng = noise(9, 12, seed)
        with pytest.raises(InputError, match="12 are more than the 7 that the samples"):
            SparseRLSRegressor(search="backward", alpha=0.0).fit(X, rng.standard_normal(9))


# --- which size is taken --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"choose": "mn"}, "cannot choose by 'mn'"),
        ({"choose": 5.0}, "a size is an integer, such as 5; a float is a fraction"),
        ({"choose": 3, "max_features": 2}, "no path can have: max_features=2"),
        ({"choose": 3, "max_features": 2, "search": "backward"}, "max_features=2"),
        ({"choose": 6}, "there are only 5 features"),
        ({"choose": 1, "forced": [0, 1]}, "2 features are forced"),
        ({"choose": -1}, "from 0 up"),
    ],
)
def test_an_impossible_choice_is_refused_before_the_search(options, words):
    X, rng = noise()

    def searched(path):
        raise AssertionError("the search has begun")

    with pytest.raises(InputError, match=words):
        SparseRLSRegressor(callback=searched, **options).fit(X, rng.standard_normal(100))


@pytest.mark.parametrize("alpha", [1.0, [0.1, 1.0]])
def test_a_size_that_was_not_reached_gives_the_nearest(alpha):
    X, rng = noise()
    y = rng.standard_normal(100)
    with pytest.warns(PathWarning, match="no size 5, only 0-1; the nearest size, 1"):
        model = SparseRLSRegressor(choose=5, alpha=alpha, stop=Patience(1)).fit(X, y)
    assert len(model.selected_) == 1
    with pytest.warns(PathWarning, match="no size 3"):
        model = SparseRLSRegressor(choose=3, feature_groups=[0, 0, 1, 1, 1]).fit(X, y)
    assert len(model.selected_) in (2, 3)


@pytest.mark.parametrize("search", SEARCHES)
def test_a_path_that_a_callback_ended_is_not_complete(search):
    X, rng = noise()
    model = SparseRLSRegressor(search=search, choose=4, callback=lambda path: True)
    path = model.fit(X, rng.standard_normal(100)).path_
    assert (path.complete, path.stopped) == (False, "asked to")


def test_an_interrupted_backward_search_says_where_it_ended():
    X, rng = noise(60, 9)

    def interrupt(path):
        if len(path.moves) == 4:
            raise KeyboardInterrupt

    with pytest.warns(PathWarning, match="ends at size 5: it was interrupted"):
        SparseRLSRegressor(search="backward", callback=interrupt).fit(X, rng.standard_normal(60))


# --- samples of weight zero -----------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "zero_one"])
def test_samples_of_weight_zero_are_none(loss):
    X, rng = noise(30, 40)
    y = np.where(rng.standard_normal(30) > 0, 1, -1)
    weights = np.where(np.arange(30) < 20, 1.0, 0.0)
    model = SparseRLSClassifier(loss=loss, choose="min")
    whole = model.fit(X, y, sample_weight=weights).path_
    part = model.fit(X[:20], y[:20]).path_
    assert whole.sizes == part.sizes  # to the end, or until there are no mistakes left
    assert loss == "zero_one" or part.sizes == tuple(range(19))
    assert whole.subsets == part.subsets
    np.testing.assert_allclose(whole.errors_se, part.errors_se, rtol=1e-8, atol=1e-12)


# --- how long a path is ---------------------------------------------------------------------------


def test_a_path_whose_length_is_left_open_goes_to_a_hundred():
    X, rng = noise(130, 120)
    y = X @ rng.standard_normal(120)

    def longest(X=X, y=y, **options):
        return SparseRLSRegressor(choose="min", **options).fit(X, y).path_.sizes[-1]

    assert longest() == LONGEST_PATH == 100
    assert longest(max_features=110) == longest(budget=110) == 110  # asked for
    assert longest(forced=range(103)) == longest(start=range(103), search="floating") == 103
    assert longest(search="backward") == 120
    assert longest(X[:, :20]) == 20
    assert longest(X[:30], y[:30]) == 28  # with a sample left out, more samples than coefficients
    assert longest(feature_groups=np.arange(120) // 60) == 120  # a group is one feature
    with pytest.raises(InputError, match="max_features=None goes to 100 at most, give a larger"):
        SparseRLSRegressor(choose=101).fit(X, y)


@pytest.mark.parametrize("estimator", [SparseRLSRegressor, SparseRLSClassifier, SparseRankRLS])
def test_units_do_not_matter_by_default(estimator):
    X, rng = noise(60)
    y = np.where(X @ [1.0, -0.5, 0.3, 0.0, 0.0] + rng.standard_normal(60) > 0, 1.0, -1.0)
    units = np.array([1e-3, 1e4, 1.0, 50.0, 0.2])
    plain, other = (estimator(choose=3).fit(columns, y) for columns in (X, X * units))
    assert other.path_.subsets == plain.path_.subsets
    assert_allclose(other.path_.errors, plain.path_.errors)
    assert_allclose(other.coef_ * units, plain.coef_)  # in the units of the data
    raw = estimator(choose=3, standardize=False).fit(X * units, y)
    assert raw.path_.subsets != plain.path_.subsets
    if estimator is SparseRLSRegressor:
        with rls_state(X * units, y) as state:
            for feature in plain.path_.subset(3):
                state.add(feature)
            assert state.error == pytest.approx(plain.path_.error(3))


def small_problem():
    X, rng = noise(40, 6)
    return X, X[:, 1] - X[:, 4] + rng.standard_normal(40)


def same_content(one, other):
    try:
        return json.loads(one) == json.loads(other)
    except ValueError:
        return False


def test_a_changed_checkpoint_is_refused(tmp_path):
    X, y = small_problem()
    file = tmp_path / "checkpoint"
    SparseRLSRegressor(4, checkpoint=file, callback=lambda path: len(path.moves) == 2).fit(X, y)
    whole = file.read_bytes()
    for place in range(len(whole)):
        for changed in (bytes([whole[place] ^ 1]), b"e", b"1"):
            raw = whole[:place] + changed + whole[place + 1 :]
            if same_content(raw, whole):  # also 17 digits of which the last does not matter
                continue
            file.write_bytes(raw)
            with pytest.raises(FileError, match=r"checkpoint is not a readable|belongs to other"):
                SparseRLSRegressor(4, checkpoint=file).fit(X, y)


@pytest.mark.parametrize("key", ["action", "feature", "error", "seconds"])
@pytest.mark.parametrize("value", [None, "x", [1], -1e9, 10**30, {}], ids=repr)
def test_a_checkpoint_of_wrong_types_is_refused(key, value, tmp_path):
    X, y = small_problem()
    file = tmp_path / "checkpoint"
    SparseRLSRegressor(4, checkpoint=file, callback=lambda path: len(path.moves) == 2).fit(X, y)
    record = json.loads(file.read_bytes())
    del record["checksum"]
    record["moves"][0][key] = value
    file.write_text(canonical({**record, "checksum": checksum(canonical(record))}))
    if key in ("error", "seconds") and isinstance(value, float | int):
        SparseRLSRegressor(4, checkpoint=file).fit(X, y)
        return
    with pytest.raises(FileError, match="not a readable checkpoint: moves"):
        SparseRLSRegressor(4, checkpoint=file).fit(X, y)


@pytest.mark.parametrize("text", ["[" * 100_000, "{}", "null", '{"moves": []}', "\x00"])
def test_what_is_no_checkpoint_is_refused(text, tmp_path):
    (tmp_path / "file").write_text(text)
    with pytest.raises(FileError, match="not a readable checkpoint"):
        SparseRLSRegressor(4, checkpoint=tmp_path / "file").fit(*small_problem())
    with pytest.raises(FileError, match=r"cannot write .*File name too long"):
        SparseRLSRegressor(4, checkpoint=tmp_path / ("x" * 300)).fit(*small_problem())


def test_the_interval_of_checkpoints_is_checked(tmp_path, monkeypatch):
    for wrong in ("x", "-1", "inf", "nan"):
        monkeypatch.setenv("SPARSEPATH_CHECKPOINT_SECONDS", wrong)
        with pytest.raises(InputError, match="number of seconds from 0 up"):
            SparseRLSRegressor(4, checkpoint=tmp_path / "file").fit(*small_problem())
