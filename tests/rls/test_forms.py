"""Which form a search takes, and that the fused one follows the model wherever it goes."""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sparsepath
from problems import make
from rls.comparing import (
    design_of,
    same_steps,
    search,
)
from sparsepath import SparseRankRLS, SparseRLSClassifier, SparseRLSRegressor
from sparsepath.data.blocks import row_blocks
from sparsepath.data.memory_layout import column_major, kept_type
from sparsepath.errors import InputError
from sparsepath.rls.criteria.table import CLASSES
from sparsepath.rls.engines import form_for, make_design
from sparsepath.system.threads import Threads
from sparsepath.system.tuning import TUNING


class Shape(NamedTuple):
    """What the choice reads of a design."""

    n_samples: int
    n_features: int
    sparse: bool = False


def form(design, steps=5, **options):
    return form_for(design, loss=CLASSES["squared"], steps=steps, **options)


# --- the cost model -------------------------------------------------------------------------------


def test_the_engine_follows_from_the_shape():
    def name_of(m, n, k, T=1, once=True):
        given = {"loss": CLASSES["squared"], "steps": k, "targets": T, "once": once}
        return form_for(Shape(m, n), **given, memory=1e12).name

    for m, n, k in ((72, 7129, 30), (200, 20_000, 50), (300, 300, 40), (300, 30, 10)):
        assert name_of(m, n, k) == name_of(m, n, k, once=False) == "memory"
    for m, n, k in ((3000, 30, 10), (10_000, 100, 20), (30_000, 40, 20), (20_000, 200, 100)):
        assert name_of(m, n, k) == "gram"
    assert [name_of(2000, 500, 20, T) for T in (1, 4, 8)] == ["memory", "gram", "gram"]
    for m, n, k in ((20_000, 1000, 50), (50_000, 1000, 50), (3000, 3000, 10)):
        assert name_of(m, n, k) == "gram"
        assert name_of(m, n, k, once=False) == "passes"


def test_what_speaks_against_the_fused_form():
    design = design_of(make("tall", m=40, n=6).X)
    assert form(design).name == "memory"
    assert form(design, memory=100.0).name == "passes"
    assert "memory" in form(design, memory=100.0).why
    assert form(design, grouped=True).name == "passes"
    assert form(design, form="passes").name == "passes"
    given = {"loss": CLASSES["absolute"], "steps": 5}
    assert form_for(design, **given).name == "memory"
    assert form_for(design, **given, grouped=True).name == "passes"
    assert form_for(design, **given, memory=100.0).name == "passes"
    large = Shape(50_000, 1000)
    assert form_for(large, **given, memory=1e12).name == "memory"
    with pytest.raises(InputError, match="form='quick'"):
        search(design, make("tall", m=40, n=6).Y, 1.0, 3, form="quick")


def test_a_path_says_how_it_was_found():
    case = make("tall", m=40, n=6)
    path = SparseRLSRegressor(3).fit(case.X, case.Y[:, 0]).path_
    assert path.data["form"].startswith("memory: P X fits")
    path = SparseRLSRegressor(3, memory_budget=8.0).fit(case.X, case.Y[:, 0]).path_
    assert path.data["form"] == "passes: P X does not fit in memory"


@pytest.mark.parametrize(
    ("options", "start"),
    [
        ({"search": "backward"}, "removals: a backward search"),
        ({"cv": 4}, "folds: loss 'squared'"),
        ({"cv": 4, "search": "backward"}, "fold removals: a backward search"),
        ({"cv": 4, "loss": "absolute"}, "fold losses: loss 'absolute'"),
        ({"feature_groups": [0, 0, 1, 1, 2, 2]}, "passes: columns enter in groups"),
        ({"feature_groups": [0, 0, 1, 1, 2, 2], "cv": 4}, "folds: loss 'squared'"),
    ],
)
def test_every_path_names_its_engine(options, start):
    case = make("tall", m=40, n=6)
    y = case.Y[:, 0]
    path = SparseRLSRegressor(4, validation=None, **options).fit(case.X, y).path_
    assert path.data["form"].startswith(start)


def test_pairs_and_files_name_their_engine(tmp_path):
    case = make("tall", m=40, n=6)
    y = case.Y[:, 0]
    auc = SparseRLSClassifier(3, loss="auc", validation=None).fit(case.X, y > 0)
    assert auc.path_.data["form"].startswith("pairs: loss 'auc'")
    folds = SparseRLSClassifier(3, loss="auc", cv=4, validation=None).fit(case.X, y > 0)
    assert folds.path_.data["form"].startswith("pairs over folds: loss 'auc'")
    rank = SparseRankRLS(3, validation=None).fit(case.X, y)
    assert rank.path_.data["form"].startswith("pairs: loss 'squared'")
    file = tmp_path / "table.csv"
    names = ",".join([*"abcdef", "y"])
    np.savetxt(file, np.column_stack([case.X, y]), delimiter=",", header=names, comments="")
    for options, start in (
        ({"alpha": 1.0}, "passes: rows are read from their source"),
        ({"alpha": 1.0, "cv": 4, "loss": "huber"}, "fold losses in passes: loss 'huber'"),
    ):
        model = SparseRLSRegressor(3, validation=None, **options)
        path = model.fit(sparsepath.open(str(file), target="y")).path_
        assert path.data["form"].startswith(start)


@pytest.mark.parametrize("memory", [None, 8.0])
def test_steps_cannot_be_changed(memory):
    case = make("tall", m=40, n=6)
    path = SparseRLSRegressor(3, memory_budget=memory).fit(case.X, case.Y[:, 0]).path_
    for name in ("coef", "intercept"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(path.step(2), name)[0] = 2.0


@pytest.mark.parametrize("kind", ["float32", "int16", "uint8", "float64"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_data_are_turned_as_they_are(monkeypatch, kind, order):
    monkeypatch.setattr(TUNING, "turned_columns", 4)
    monkeypatch.setattr(TUNING, "tile_numbers", 16)
    X = np.random.default_rng(0).integers(0, 100, (37, 11)).astype(kind, order=order)
    other = column_major(X, Threads(1))
    assert other.flags.f_contiguous
    assert other.dtype == np.float64
    assert np.array_equal(X, other)
    assert (other is X) == (kind == "float64" and order == "F")


@pytest.mark.parametrize("kind", ["float32", "int16", "uint8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_large_data_stay_narrow_and_give_the_same_path(monkeypatch, kind, order):
    monkeypatch.setattr(TUNING, "compiled_pass_from", 1)
    monkeypatch.setattr(TUNING, "narrow_from", 1)
    rng = np.random.default_rng(1)
    X = np.asarray(rng.integers(0, 100, (9000, 8)) ** 1.3 / 4, order=order).astype(kind)
    y = X[:, :5] @ rng.standard_normal(5) + 20 * rng.standard_normal(len(X))
    assert kept_type(X) == np.float32
    assert kept_type(X.astype(np.int32)) == np.float64
    kept = column_major(X, Threads(1), kept_type(X))
    assert np.array_equal(kept, X)
    assert (kept is X) == (kind == "float32" and order == "F")
    with Threads(1) as crew:
        designs = [
            make_design(Z, np.ones(len(X)), crew) for Z in (X, np.asfortranarray(X, dtype=float))
        ]
        assert_allclose(designs[0].squares, designs[1].squares, rtol=1e-12)
        paths = [search(design, y[:, None], 1.0, 6, form="passes") for design in designs]
        passes = [search(design, y[:, None], 1.0, 6, form="passes") for design in designs]
    for trail in (paths[1], *passes):
        assert [step.feature for step in trail.moves] == [step.feature for step in paths[0].moves]
        assert_allclose(
            [step.error for step in trail.moves],
            [step.error for step in paths[0].moves],
            rtol=1e-12,
        )


@pytest.mark.parametrize("passes", ["compiled", "plain"])
@pytest.mark.parametrize("kind", ["float64", "float32", "int16", "int32", "bool"])
def test_data_in_c_order_give_the_same(monkeypatch, kind, passes):
    monkeypatch.setattr(TUNING, "narrow_from", 1)
    monkeypatch.setattr(TUNING, "compiled_pass_from", 1 if passes == "compiled" else 1 << 40)
    rng = np.random.default_rng(2)
    size = 1.0 if kind in ("float64", "float32") else 50.0
    X = np.maximum(size * (rng.standard_normal((6000, 40)) + 1.0), 0.0).astype(kind)
    X[:, 7] = 3.0
    y = X[:, :5] @ rng.standard_normal(5) + rng.standard_normal(len(X))
    plain = np.asfortranarray(X, dtype=float)
    ones = [row_blocks(of, 2)[1] for of in (X, plain)]
    V, some, means = rng.standard_normal((3000, 2)), np.array([3, 11, 5]), plain.mean(0)
    a, w = rng.integers(0, 2**63, 3000, dtype=np.uint64), rng.random(3000)
    every = np.arange(40)
    for turn in range(3):
        for v in (V, V[:, :1]):
            for which in (some[turn % 3 :], every[::3], some[:0]):
                assert_allclose(*(block.dot(v, which) for block in ones), rtol=1e-10, atol=1e-10)
            assert_allclose(*(block.dot(v) for block in ones), rtol=1e-10, atol=1e-10)
        assert_allclose(*(block.gram(means, w, every) for block in ones), rtol=1e-10, atol=1e-9)
        assert_allclose(*(block.spread(means, w) for block in ones), rtol=1e-12)
        assert_allclose(*(block.spread(means, None) for block in ones), rtol=1e-12)
        assert np.array_equal(*(block.marks(a) for block in ones))
        for which in (some, some[:1], some[:0], every, every[::2]):
            assert np.array_equal(*(block.columns(which) for block in ones))
        assert np.array_equal(*(block.rows(some) for block in ones))
        assert all(
            np.array_equal(one.columns(some), other.columns(some))
            for one, other in zip(*(block.strips(700) for block in ones), strict=True)
        )
    with Threads(1) as crew:
        designs = [make_design(Z, np.ones(len(X)), crew) for Z in (X, plain)]
        assert designs[0].marks.tolist() == designs[1].marks.tolist()
        for asked in ("auto", "memory", "passes"):
            same_steps(*(search(design, y[:, None], 1.0, 9, form=asked) for design in designs))


@pytest.mark.parametrize("kind", ["float64", "float32", "int16", "uint8", "int32"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("how", ["forward", "swap"])
def test_wide_data_are_read_as_they_lie(monkeypatch, kind, order, step, how):
    """Copies with a little noise lose most of themselves, so that columns are read once more."""
    monkeypatch.setattr(TUNING, "narrow_from", 1)
    monkeypatch.setattr(TUNING, "turned_from", 1)
    rng = np.random.default_rng(4)
    X = rng.integers(0, 200, (80, 180)).astype(float)
    X[:, 90:] = X[:, :90]
    X[0, 90:] += 1.0
    y = X[:, :6] @ rng.standard_normal(6) + rng.standard_normal(80)
    given = np.asarray(X, dtype=kind, order=order)
    given = given[:, ::step] if order == "F" else np.repeat(given, step, axis=0)[::step, ::step]
    plain = np.asfortranarray(given, dtype=float)
    assert (plain == X[:, ::step]).all()
    with Threads(1) as crew:
        designs = [make_design(Z, np.ones(80), crew) for Z in (given, plain)]
        asked = y[:, None], 1e-3, 20
        found = search(designs[0], *asked, search=how)
        assert found.form.startswith("memory")
        same_steps(found, search(designs[1], *asked, search=how))
        same_steps(found, search(designs[1], *asked, search=how, form="passes"), rtol=1e-7)


def test_no_copy_is_made_beyond_the_budget(monkeypatch):
    monkeypatch.setattr(TUNING, "narrow_from", 1)
    X = np.random.default_rng(3).standard_normal((9000, 12))
    with Threads(1) as crew:
        design = make_design(X, np.ones(len(X)), crew, memory=100.0)
    assert all(block.whole is X for block in design.blocks)
