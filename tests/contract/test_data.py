"""What every selector makes of its data: layout, sparse, weighted, constant, doubled, threaded."""

import gc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils import get_tags
from threadpoolctl import threadpool_limits

from contract.every import LABELS, NAMES, NEW, X, answers, fit_takes, make, plain, takes, target
from sparsepath import InputError
from sparsepath.system.tuning import TUNING

every = pytest.mark.parametrize("name", NAMES)


def agree(one, other, rows=NEW):
    """The same subsets, and errors and answers equal to rounding."""
    assert one.path_.subsets == other.path_.subsets
    assert one.path_.errors == pytest.approx(other.path_.errors, rel=1e-6, abs=1e-9)
    assert answers(one, rows) == pytest.approx(answers(other, rows), rel=1e-5, abs=1e-6)


@every
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
def test_sparse_data_give_what_dense_data_give(name, kind):
    if not get_tags(make(name)).input_tags.sparse:
        pytest.skip("it takes dense data only")
    gaps = np.where(np.abs(X) < 0.5, 0.0, X)
    dense = make(name).fit(gaps, target(name))
    sparse = make(name).fit(kind(gaps), target(name))
    agree(dense, sparse)
    assert answers(sparse, kind(NEW)) == pytest.approx(answers(dense), rel=1e-5, abs=1e-6)
    for told in ("n_samples", "n_features", "fingerprint"):
        assert dense.path_.data[told] == sparse.path_.data[told]


@every
def test_single_precision_is_read_as_it_is(name):
    rounded = X.astype(np.float32)
    agree(
        make(name).fit(rounded, target(name)),
        make(name).fit(rounded.astype(np.float64), target(name)),
    )


@every
def test_the_layout_in_memory_changes_no_choice(name):
    """Row-major, column-major, every other row of a larger array, and reversed in memory."""
    larger = np.zeros((2 * len(X), 2 * X.shape[1]))
    larger[::2, ::2] = X
    usual = make(name).fit(np.ascontiguousarray(X), target(name))
    for same in (np.asfortranarray(X), larger[::2, ::2], X[::-1].copy()[::-1]):
        agree(usual, make(name).fit(same, target(name)))


@every
def test_a_weight_of_zero_is_an_absent_row(name):
    if not fit_takes(name, "sample_weight"):
        pytest.skip("it takes no weights")
    y, n = target(name), 5
    junk = 3 * np.random.default_rng(0).standard_normal((n, 6))
    more = 100 * junk[:, 0] if y.dtype.kind == "f" and y.ndim == 1 else y[:n]
    w = np.append(np.ones(len(X)), np.zeros(n))
    apart, together = {}, {}
    if takes(name, "cv") and make(name).get_params()["cv"] != "loo":
        order = np.random.default_rng(1).permutation(len(X))
        parts = np.array_split(order, 3)
        extra = len(X) + np.arange(n)
        splits = [(np.setdiff1d(order, part), part) for part in parts]
        apart["cv"] = splits
        together["cv"] = [(np.append(a, extra[:3]), np.append(b, extra[3:])) for a, b in splits]
    agree(
        make(name, **apart).fit(X, y),
        make(name, **together).fit(
            np.vstack([X, junk]), np.concatenate([y, more]), sample_weight=w
        ),
    )


@every
@pytest.mark.parametrize("value", [0.0, 0.1, -1e6 / 3, 1e6 + 1e-9 * X[:, 0]])
def test_a_constant_column_is_never_selected(name, value):
    columns = np.insert(X, 3, value, axis=1)
    model = make(name).fit(columns, target(name))
    used = set().union(*model.path_.subsets, (move.feature for move in model.path_.moves))
    assert 3 not in used
    assert used


@every
def test_what_varies_where_weights_are_zero_is_constant(name):
    if not fit_takes(name, "sample_weight"):
        pytest.skip("it takes no weights")
    w = np.ones(len(X))
    w[:2] = 0.0
    odd = np.where(w > 0, 0.1, 1e6)
    model = make(name).fit(np.insert(X, 3, odd, axis=1), target(name), sample_weight=w)
    assert 3 not in set().union(*model.path_.subsets)


@every
def test_a_class_of_weight_zero_is_no_class(name):
    if not fit_takes(name, "sample_weight") or target(name) is not LABELS:
        pytest.skip("it takes no weights, or no classes")
    y, w = LABELS.astype("<U5"), np.ones(len(X))
    y[:3], w[:3] = "other", 0.0
    model = make(name).fit(X, y, sample_weight=w)
    assert model.classes_.tolist() == ["no", "yes"]
    assert set(model.predict(NEW)) <= {"no", "yes"}


@every
def test_columns_that_are_equal_do_no_harm(name):
    doubled = np.column_stack([X, X[:, [0, 2]]])
    model = make(name).fit(doubled, target(name))
    assert np.isfinite(model.path_.errors).all()
    for size in model.path_.sizes:
        shown = answers(model.at_size(size), np.column_stack([NEW, NEW[:, [0, 2]]]))
        assert np.isfinite(np.asarray(shown, dtype=float)).all()


@pytest.fixture
def shared_out(monkeypatch):
    """Small data are cut and shared out among workers as large data are."""
    few = {"block_numbers": 32, "block_rows": 8, "threaded_from": 0, "thread_numbers": 32}
    for name, value in {**few, "workers_from": 0.0}.items():
        monkeypatch.setattr(TUNING, name, value)


@every
@pytest.mark.parametrize("workers", ["n_threads", "n_jobs"])
def test_results_do_not_depend_on_the_workers(name, workers, shared_out):
    if not takes(name, workers):
        pytest.skip("it has no such parameter")
    one = make(name, **{workers: 1}).fit(X, target(name))
    for several in (2, 3, None if workers == "n_threads" else -1):
        others = make(name, **{workers: several}).fit(X, target(name))
        assert plain(one.path_, 17) == plain(others.path_, 17)
        assert (answers(one) == answers(others)).all()
        assert one.path_.parameters == others.path_.parameters


@every
def test_results_do_not_depend_on_the_threads_of_blas(name):
    both = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            both.append(make(name).fit(X, target(name)))
    one, two = both
    assert plain(one.path_, 17) == plain(two.path_, 17)
    assert (answers(one) == answers(two)).all()


@every
@pytest.mark.parametrize("parameter", ["cv", "validation"])
def test_splits_with_rows_on_both_sides_are_refused(name, parameter):
    """What would be told of them are training errors."""
    if not takes(name, parameter) or name == "TableSelector":
        pytest.skip(f"it has no {parameter}")
    rows = np.arange(len(X))
    for splits, why in (
        ([(rows, rows)], "also in its training"),
        ([(rows[:20], rows[20:]), (rows[10:], rows[:20])], "also in its training"),
        ([(rows[:20], rows + 1)], "names row"),
        ([rows, rows], "(not a pair|split these data)"),
        ([], "no splits"),
    ):
        with pytest.raises(InputError, match=f"(?s){parameter}.* {why}"):
            make(name, **{parameter: splits}).fit(X, target(name))


@every
def test_a_fit_lets_go_of_the_data_when_it_ends(name):
    """Nothing of the search waits in circles for somebody to collect garbage."""
    model, y = make(name), target(name)
    model.fit(X, y)  # what is made once
    gc.collect()
    gc.disable()
    try:
        gc.set_debug(gc.DEBUG_SAVEALL)
        model.fit(X, y)
        gc.collect()
        left = {type(what).__qualname__ for what in gc.garbage if ours(what)}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not left


def ours(what):
    module = type(what).__module__
    return isinstance(module, str) and module.startswith("sparsepath")
