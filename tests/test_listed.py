"""Paths kept as arrays are as those whose steps and moves were made one by one."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from problems import make
from sparsepath import SelectionPath, SparseRLSRegressor
from sparsepath.errors import InputError
from sparsepath.listed import AddingMoves, Listed, Nested

SUBSET, ERRORS = (3, 0, 4), np.array([4.0, 3.0, 2.5, 2.75])
ERRORS_SE = np.array([0.5, 0.5, 0.5, np.nan])


def arrays(targets=2):
    rng = np.random.default_rng(0)
    return rng.standard_normal((4, 3, targets)), rng.standard_normal((4, targets))


def nested() -> Nested:
    return Nested(SUBSET, ERRORS, ERRORS_SE, *arrays())


def both() -> tuple[SelectionPath, SelectionPath]:
    """The same path, as arrays and as objects."""
    steps, moves = nested(), AddingMoves(SUBSET, ERRORS, 0.25)
    late = SelectionPath(steps, n_features=5, moves=moves)
    return late, SelectionPath(list(nested()), n_features=5, moves=tuple(moves))


def test_what_is_asked_of_steps():
    late, listed = both()
    assert isinstance(late.steps, Nested)
    assert isinstance(listed.steps, Listed)
    assert late.sizes == listed.sizes == (0, 1, 2, 3)
    assert late.subsets == listed.subsets == [(), (3,), (3, 0), (3, 0, 4)]
    assert_array_equal(late.errors, listed.errors)
    assert_array_equal(late.errors_se, listed.errors_se)
    assert len(late) == len(listed)
    assert late == listed
    assert [vars(step).keys() for step in late.steps] == [vars(s).keys() for s in listed.steps]
    for size in late.sizes:
        assert_array_equal(late.coef(size), arrays()[0][size, :size])
        assert_array_equal(late.intercept(size), arrays()[1][size])
    assert list(late.replay()) == list(listed.replay())


def test_a_sequence():
    steps, moves = nested(), AddingMoves(SUBSET, ERRORS, 0.25)
    assert steps[-1].subset == steps[3].subset == SUBSET
    assert steps[-1] is steps[3]
    assert [step.error for step in steps[1:3]] == [3.0, 2.5]
    assert moves == tuple(moves)
    assert tuple(moves) == moves[:]
    assert moves != moves[:2]
    assert [(move.action, move.feature, move.error, move.seconds) for move in moves] == [
        ("add", 3, 3.0, 0.25),
        ("add", 0, 2.5, 0.25),
        ("add", 4, 2.75, 0.25),
    ]
    for items, count in ((steps, 4), (moves, 3)):
        for place in (count, -count - 1):
            with pytest.raises(IndexError):
                items[place]


def test_what_is_told_cannot_be_changed():
    path, _ = both()
    path.errors[0] = 9.0
    path.errors_se[0] = 9.0
    assert path.error(0) == path.errors[0] == 4.0
    assert path.errors_se[0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        path.coef(2)[0] = 1.0


def test_pickles_are_the_arrays():
    path, _ = both()
    alone = len(pickle.dumps(path))
    assert path.steps[2].error == 2.5
    assert len(pickle.dumps(path)) == alone
    again = pickle.loads(pickle.dumps(path))
    assert isinstance(again.steps, Nested)
    assert again == path


def test_an_error_that_is_no_number_is_refused():
    for bad in (np.nan, -np.inf):
        with pytest.raises(InputError, match="numbers"):
            Nested((0,), np.array([1.0, bad]), np.zeros(2), np.zeros((2, 1, 1)), np.zeros((2, 1)))


def test_honest_errors_and_other_steps_take_their_place():
    path, listed = both()
    known = {2: dict.fromkeys(("honest_error", "honest_error_se"), 0.5)}
    assert path.with_honest(known, "2-fold") == listed.with_honest(known, "2-fold")
    fewer = path.replaced(steps=tuple(path.steps[1:]))
    assert fewer.sizes == (1, 2, 3)
    assert fewer == listed.replaced(steps=tuple(listed.steps[1:]))


def test_a_fit_that_is_watched_finds_the_same():
    """Nobody sees whether steps were made as they came, or later."""
    case = make("tall", 60, 12, seed=3)
    quiet = SparseRLSRegressor(8, validation=None).fit(case.X, case.Y[:, 0]).path_
    heard = []
    model = SparseRLSRegressor(8, validation=None, callback=heard.append)
    told = model.fit(case.X, case.Y[:, 0]).path_
    assert isinstance(quiet.steps, Nested)
    assert isinstance(told.steps, Listed)
    assert len(heard) == 8
    late, early = quiet.to_dict(), told.to_dict()
    for record in (late, early):
        for move in record["moves"]:
            assert 0 <= move.pop("seconds") < 60
    assert late == early
