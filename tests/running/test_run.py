"""The run of a fit by itself: what is kept when, who is told, what is published."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from sparsepath.base import (
    CallbackSupportMixin,
    Found,
    Given,
    Run,
    Stop,
    Trail,
    fitting,
    seed_of,
)
from sparsepath.base.selector import PathSelector
from sparsepath.errors import PathWarning, warn_user
from sparsepath.path.steps import Step

X, Y = np.arange(12.0).reshape(4, 3), np.arange(4.0)


class Counting(PathSelector, CallbackSupportMixin, BaseEstimator):
    """Adds the columns in their order; ``at`` is what happens before each."""

    def __init__(self, at=None, choose="min", callback=None):
        self.at = at
        self.choose = choose
        self.callback = callback

    @fitting
    def fit(self, X, y, sample_weight=None):
        self.n_features_in_ = X.shape[1]
        trail = Trail()
        given = Given.of(X, y, sample_weight=sample_weight)

        def found():
            return Found.on(trail, models=trail.models) if trail.steps else None

        with Run(self, given, X, method="counting", found=found) as run:
            for size in range(X.shape[1] + 1):
                if self.at is not None:
                    self.at(size)
                step = Step(tuple(range(size)), 10.0 - size)
                moves = [trail.move("add", size - 1, step.error)] if size else []
                trail.offer(step, moves, model=f"model {size}")
                if run.tell():
                    break
        return run.settle()

    def _take(self, size):
        self.selected_ = np.array(self.path_.subset(size), dtype=np.intp)
        self.model_ = self.models_[size]


def raising(error, when):
    def at(size):
        if size == when:
            raise error

    return at


def test_a_run_that_comes_to_its_end():
    model = Counting().fit(X, Y)
    assert (model.path_.sizes, model.path_.complete, model.path_.stopped) == (
        (0, 1, 2, 3),
        True,
        "",
    )
    assert (model.model_, model.at_size(1).model_) == ("model 3", "model 1")
    assert [move.feature for move in model.path_.moves] == [0, 1, 2]


@pytest.mark.parametrize("choose", ["min", "one_se", 3])
def test_an_interrupt_keeps_what_there_is_and_warns_here(choose):
    model = Counting(raising(KeyboardInterrupt, 2), choose)
    with pytest.warns(PathWarning, match="ends at size 1: it was interrupted") as caught:
        model.fit(X, Y)
    assert caught[0].filename == __file__
    assert (model.path_.complete, model.path_.stopped) == (False, Stop.INTERRUPTED)
    assert type(model.path_.stopped) is str
    assert model.model_ == "model 1"


def test_an_interrupt_within_a_compiled_function():
    def at(size):
        if size == when:
            cause = SystemError("unpickle returned a result with an exception set")
            cause.__cause__ = KeyboardInterrupt()
            raise SystemError("move returned a result with an exception set") from cause

    when = 2
    model = Counting(at)
    with pytest.warns(PathWarning, match="interrupted"):
        model.fit(X, Y)
    assert model.path_.stopped == "interrupted"
    when = 0
    with pytest.raises(KeyboardInterrupt):
        Counting(at).fit(X, Y)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_with_nothing_found_all_is_as_before(error):
    model = Counting(raising(error, 0))
    with pytest.raises(error):
        model.fit(X, Y)
    assert not hasattr(model, "n_features_in_")
    model = Counting().fit(X, Y)
    known = dict(vars(model))
    with pytest.raises(error):
        model.set_params(at=raising(error, 0)).fit(X[:, :2], Y)
    assert {**vars(model), "at": None} == known


def test_an_error_is_no_interrupt():
    with pytest.raises(ValueError, match="broken"):
        Counting(raising(ValueError("broken"), 2)).fit(X, Y)


def test_a_warning_that_is_an_error_does_not_take_the_model_away():
    model = Counting(raising(KeyboardInterrupt, 2))
    with pytest.raises(PathWarning):  # warnings are errors in these tests
        model.fit(X, Y)
    assert model.model_ == "model 1"


def test_the_size_is_settled_in_one_place_with_the_arguments_of_the_fit():
    seen = []

    class Elsewhere(Counting):
        def _settle_on(self, path, given):
            seen.append(given)
            return 2

    given = {"sample_weight": [1, 2, 1, 1]}
    model = Elsewhere().fit(X, Y, **given)
    assert model.model_ == "model 2"
    assert (seen[0].X is X, seen[0].y is Y, seen[0].more) == (True, True, given)
    assert Elsewhere(callback=lambda path: len(path) == 2).fit(X, Y).model_ == "model 1"
    assert len(seen) == 1  # what was stopped is no case for a second look


def test_a_trail_keeps_the_first_of_equals_and_forgets_half_a_move():
    trail = Trail()
    assert trail.offer(Step((0,), 1.0), [trail.move("add", 0, 1.0)], "first")
    assert not trail.offer(Step((1,), 1.0), model="second")
    assert trail.models == {1: "first"}
    trail._moves.append(trail.move("add", 5, 0.0))  # an interrupt came before it counted
    assert [move.feature for move in trail.moves] == [0]
    assert trail.offer(Step((0, 1), 0.5), [trail.move("add", 1, 0.5)])
    assert [move.feature for move in trail.moves] == [0, 1]


def test_seeds():
    assert seed_of(5) == seed_of(np.int64(5)) == 5
    drawn = seed_of(np.random.RandomState(0))
    assert drawn == seed_of(np.random.RandomState(0))
    assert seed_of(drawn) == drawn
    assert isinstance(seed_of(None), int)


def test_warnings_point_at_the_line_of_the_user():
    with pytest.warns(PathWarning, match="look here") as caught:
        warn_user("look here")
    assert caught[0].filename == __file__
