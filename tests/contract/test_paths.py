"""What every fitted selector leaves: a whole path, and a model for each of its sizes."""

import copy
import json
import pickle
import re

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError

from contract.every import (
    LABELS,
    NAMES,
    NEW,
    NUMBERS,
    PUBLIC,
    SELECTORS,
    X,
    answers,
    make,
    plain,
    takes,
    target,
)
from docstrings import documented
from sparsepath import InputError, LarsSelector, SelectionPath
from sparsepath.base import Predictor

every = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module")
def fitted():
    """A fitted selector of each kind, made when first asked for; not to be changed."""
    known = {}

    def fit(name):
        if name not in known:
            known[name] = make(name).fit(X, target(name))
        return known[name]

    return fit


def test_there_are_selectors():
    assert len(NAMES) >= 15
    assert "LarsSelector" in NAMES


@every
def test_it_runs_by_its_defaults(name):
    rows = slice(None, None, 2)
    y = target(name)[rows]
    slow = takes(name, "n_restarts")  # a hundred of them
    model = make(name) if slow else type(make(name))()
    path = model.fit(X[rows, :4], y).path_
    assert path.sizes[0] == 0
    assert path.complete


@every
def test_sizes_ascend_and_each_has_its_subset(name, fitted):
    path = fitted(name).path_
    assert path.sizes == tuple(sorted(set(path.sizes)))
    assert path.sizes[0] == 0
    assert len(path.sizes) > 1
    for size in path.sizes:
        assert len(path.subset(size)) == size == len(set(path.subset(size)))
        assert np.isfinite(path.error(size))
    walked = [len(subset) for subset in path.replay()]
    # a path over l1 passes sizes at which it never rests, and a unit brings several features
    if walked and not (takes(name, "n_l1s") or takes(name, "look_ahead")):
        assert path.sizes == tuple(sorted({len(path.start), *walked}))


@every
def test_it_came_to_its_end_and_says_what_it_was(name, fitted):
    model = fitted(name)
    path = model.path_
    assert path.complete
    assert path.stopped not in ("asked to", "interrupted")
    assert path.method
    assert path.n_features == 6
    assert path.data["n_samples"] == 48
    assert path.data["n_features"] == 6
    assert path.data["fingerprint"]
    unsaid = {"callback", "checkpoint", "n_threads", "n_jobs", "random_state", "memory_budget"}
    assert not unsaid & set(path.parameters)
    given = set(model.get_params(deep=False)) - unsaid
    assert given - {"stop"} <= set(path.parameters) | {"alpha"}


@every
def test_the_seed_is_told_even_if_it_was_drawn(name):
    if not takes(name, "random_state"):
        pytest.skip("nothing is drawn")
    drawn = make(name, random_state=None).fit(X, target(name))
    assert isinstance(drawn.path_.seed, int)
    again = make(name, random_state=drawn.path_.seed).fit(X, target(name))
    assert plain(again.path_) == plain(drawn.path_)
    assert again.path_.seed == drawn.path_.seed


@every
def test_the_fingerprint_is_of_features_target_and_layout_free(name, fitted):
    path, y = fitted(name).path_, target(name)
    same = make(name).fit(np.asfortranarray(X), y).path_
    assert same.data["fingerprint"] == path.data["fingerprint"]
    other = y.copy()
    other[0] = LABELS[LABELS[0] != LABELS][0] if y is LABELS else y[1]
    changed = make(name).fit(X, other).path_
    assert changed.data["fingerprint"] != path.data["fingerprint"]


@every
def test_every_size_can_be_used(name, fitted):
    model = fitted(name)
    here = answers(model)
    for size in model.path_.sizes:
        other = model.at_size(size)
        assert sorted(other.selected_) == sorted(model.path_.subset(size))
        assert other.get_support().sum() == size
        shown = answers(other)
        assert len(shown) == len(NEW)
        moved = NEW.copy()
        moved[:, np.setdiff1d(np.arange(6), other.selected_)] += 5.0
        if hasattr(model, "predict"):
            assert np.isfinite(np.asarray(shown, dtype=float)).all()
            assert (answers(other, moved) == shown).all()  # columns out of use have no say
        assert (answers(pickle.loads(pickle.dumps(other))) == shown).all()
    assert (answers(model) == here).all()  # the first was not changed
    assert (answers(model.at_size(len(model.selected_))) == here).all()
    with pytest.raises(InputError, match="no model of size"):
        model.at_size(5000)


@every
def test_a_size_on_the_path_is_the_model_of_a_fit_that_asks_for_it(name, fitted):
    if not takes(name, "choose"):
        pytest.skip("it has no choice of a size")
    model = fitted(name)
    for size in model.path_.sizes:
        asked = make(name, choose=size).fit(X, target(name))
        assert asked.selected_.tolist() == model.at_size(size).selected_.tolist()
        assert (answers(asked) == answers(model.at_size(size))).all()


@every
def test_linear_models_are_those_of_the_path(name, fitted):
    model = fitted(name)
    if not hasattr(model, "predict"):
        pytest.skip("it does not predict")
    for size in model.path_.sizes:
        coef, intercept = model.path_.coef(size), model.path_.intercept(size)
        if coef is None:
            pytest.skip("its models are not linear")
        columns = list(model.path_.subset(size))
        scores = (NEW[:, columns] @ coef + intercept)[:, 0]
        assert answers(model.at_size(size)) == pytest.approx(scores)


@every
def test_every_size_has_a_model_that_can_be_written_down(name, fitted):
    model = fitted(name)
    if not hasattr(model, "predict"):
        assert model.models_ == {}
        return
    assert tuple(model.models_) == model.path_.sizes
    for size, small in model.models_.items():
        outputs = np.ravel(small.predict(NEW))
        assert outputs == pytest.approx(answers(model.at_size(size)), rel=1e-12)
        record = json.loads(json.dumps(small.to_dict(), allow_nan=False))
        assert (np.ravel(Predictor.from_dict(record).predict(NEW)) == outputs).all()


@every
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_names_go_in_and_come_out(name, kind, fitted):
    frames = pytest.importorskip(kind)
    if kind == "polars" and not hasattr(SELECTORS[name], "set_callbacks"):
        pytest.skip("before 1.9 scikit-learn reads polars by a protocol that polars has given up")
    names = [f"column {letter}" for letter in "abcdef"]

    def frame(values):
        return frames.DataFrame(dict(zip(names, values.T, strict=True)))

    model = make(name).fit(frame(X), target(name))
    plain_model = fitted(name)
    assert model.path_.feature_names == tuple(names) == tuple(model.feature_names_in_)
    assert model.path_.subsets == plain_model.path_.subsets
    assert model.path_.errors == pytest.approx(plain_model.path_.errors)
    for size in model.path_.sizes:
        subset = model.path_.subset(size)
        assert model.path_.names(size) == tuple(names[i] for i in subset)
        out = model.at_size(size).get_feature_names_out()
        assert list(out) == [names[i] for i in sorted(subset)]
    assert answers(model, frame(NEW)) == pytest.approx(answers(plain_model), abs=1e-6)


@every
def test_the_path_is_the_same_after_json(name, fitted, tmp_path):
    path = fitted(name).path_
    again = SelectionPath.from_dict(json.loads(json.dumps(path.to_dict(), allow_nan=False)))
    assert again == path
    path.save(tmp_path / "path.json")
    loaded = SelectionPath.load(tmp_path / "path.json")
    assert loaded == path
    assert tuple(loaded.models) == tuple(path.models)
    for size, small in loaded.models.items():
        assert (small.predict(NEW) == path.models[size].predict(NEW)).all()
    with pytest.raises(AttributeError, match="a path is read-only"):
        path.method = "another"


@every
def test_it_can_be_pickled_copied_and_cloned(name, fitted):
    model = fitted(name)
    here = answers(model)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert again.path_ == model.path_
        assert (answers(again) == here).all()
    fresh = clone(model)
    with pytest.raises(NotFittedError):
        fresh.at_size(0)
    assert plain(fresh.fit(X, target(name)).path_) == plain(model.path_)


@every
def test_a_fit_that_fails_leaves_no_trace(name):
    model = make(name)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, target(name)[:-1])
    with pytest.raises(NotFittedError):
        model.transform(X)
    model.fit(X, target(name))
    before, known = answers(model), vars(model).keys()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X[:, :3], target(name)[:-1])
    assert (answers(model) == before).all()
    assert vars(model).keys() == known


def explains(model):
    """Whether the docstring of a fitted estimator explains its attributes, and no others."""
    cls = type(model)
    named = set(documented(cls.__doc__, "Attributes"))
    shown = {name for name in dir(cls) if isinstance(getattr(cls, name), property)} | set(
        vars(model)
    )
    assert {name for name in shown if re.fullmatch(r"[a-zA-Z]\w*_", name)} <= named
    spared = {"feature_names_in_"} | (set() if is_classifier(model) else {"classes_"})
    assert all(hasattr(model, name) for name in named - spared)


@every
def test_attributes_are_documented(name, fitted):
    explains(fitted(name))


OTHERS = {n: c for n, c in PUBLIC.items() if hasattr(c, "fit") and n not in SELECTORS}


@pytest.mark.parametrize("name", OTHERS)
def test_attributes_of_plain_estimators_are_documented(name):
    model = OTHERS[name]()
    explains(model.fit(X, LABELS if is_classifier(model) else NUMBERS))


def test_a_selector_without_an_entry_runs_by_its_defaults(monkeypatch):
    monkeypatch.setitem(SELECTORS, "Unknown", type("Unknown", (LarsSelector,), {}))
    assert make("Unknown").fit(X, target("Unknown")).path_.complete
