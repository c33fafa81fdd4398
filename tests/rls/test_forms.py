"""Which form a search takes, and that the fused one follows the model wherever it goes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from problems import Case, make, problems
from rls.comparing import (
    check_forward,
    correlated,
    design_of,
    examples,
    judge_of,
    same_steps,
    search,
    subsets,
    weights_of,
)
from sparsepath import SparseRLSRegressor
from sparsepath.data.blocks import row_blocks
from sparsepath.data.threads import Threads
from sparsepath.data.turning import TurnedLate, kept_type, turned
from sparsepath.errors import InputError
from sparsepath.rls.criteria.table import CLASSES
from sparsepath.rls.forms import Shape, form_for, seconds
from sparsepath.rls.leave_one_out.fused import Fused
from sparsepath.rls.models import make_design
from sparsepath.rls.update import Costs, Update
from sparsepath.tuning import TUNING


def form(design, steps=5, **options):
    return form_for(design, loss=CLASSES["squared"], steps=steps, **options)


def fused_of(case, compiled, layout="one", threads=1, size=8):
    design = design_of(case.X, weights_of(case), layout, threads)
    return Fused(design, case.Y, case.alpha, size, compiled)


# --- the cost model -------------------------------------------------------------------------------


def test_small_and_wide_data_are_fused_and_tall_ones_bounded():
    for m, n, k in ((300, 30, 20), (72, 7129, 30), (200, 20000, 50), (2000, 2000, 200)):
        fused, bounds = seconds(m, n, k)
        assert fused < bounds
    for m, n, k in ((50_000, 1000, 50), (60_000, 784, 100), (1_000_000, 50, 20)):
        fused, bounds = seconds(m, n, k)
        assert bounds < fused


def test_what_is_searched_at_once():
    def form_of(m, n, k, T=1):
        return form_for(Shape(m, n), loss=CLASSES["squared"], steps=k, targets=T, once=True)

    for m, n, k in ((300, 30, 20), (1000, 100, 20), (72, 7129, 30), (3000, 300, 150)):
        assert (form_of(m, n, k).name, form_of(m, n, k).whole) == ("fused", True)
    assert [form_of(2000, 500, 20, T).name for T in (1, 3, 8)] == ["fused", "fused", "gram"]
    for m, n, k in ((10_000, 100, 20), (30_000, 40, 20), (5000, 200, 50)):
        assert (form_of(m, n, k).name, form_of(m, n, k).whole) == ("gram", True)
    for m, n, k in ((20_000, 300, 20), (10_000, 1000, 50), (50_000, 1000, 50)):
        assert (form_of(m, n, k).name, form_of(m, n, k).whole) == ("bounds", False)


def test_what_speaks_against_the_fused_form():
    design = design_of(make("tall", m=40, n=6).X)
    assert form(design).name == "fused"
    assert not form(design).compiled
    assert form(design, memory=100.0).name == "bounds"
    assert "memory" in form(design, memory=100.0).why
    assert form(design, grouped=True).name == "bounds"
    assert form(design, asked="pass").name == "pass"
    given = {"loss": CLASSES["absolute"], "steps": 5}
    assert form_for(design, **given).name == "fused"
    assert form_for(design, **given, grouped=True).name == "blocks"
    assert form_for(design, **given, memory=100.0).name == "blocks"
    large = Shape(50_000, 1000)
    assert form_for(large, **given, memory=1e12).name == "fused"
    assert not form_for(large, **given, memory=1e12, once=True).whole
    assert form_for(Shape(5000, 100), **given, once=True).whole
    with pytest.raises(InputError, match="form='quick'"):
        search(design, make("tall", m=40, n=6).Y, 1.0, 3, form="quick")


def test_a_path_says_how_it_was_found():
    case = make("tall", m=40, n=6)
    path = SparseRLSRegressor(3).fit(case.X, case.Y[:, 0]).path_
    assert path.data["form"].startswith("fused: about")
    path = SparseRLSRegressor(3, memory_budget=8.0).fit(case.X, case.Y[:, 0]).path_
    assert path.data["form"] == "bounds: P X does not fit in memory"


@pytest.mark.parametrize("kind", ["float32", "int16", "uint8", "float64"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_data_are_turned_as_they_are(monkeypatch, kind, order):
    monkeypatch.setattr(TUNING, "turned_columns", 4)
    monkeypatch.setattr(TUNING, "tile_numbers", 16)
    X = np.random.default_rng(0).integers(0, 100, (37, 11)).astype(kind, order=order)
    other = turned(X, Threads(1))
    assert other.flags.f_contiguous
    assert other.dtype == np.float64
    assert np.array_equal(X, other)
    assert (other is X) == (kind == "float64" and order == "F")


@pytest.mark.parametrize("kind", ["float32", "int16", "uint8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_large_data_stay_narrow_and_give_the_same_path(monkeypatch, kind, order):
    monkeypatch.setattr(TUNING, "compiled_pass_from", 1)
    monkeypatch.setattr(TUNING, "turned_late_from", 1)
    rng = np.random.default_rng(1)
    X = np.asarray(rng.integers(0, 100, (9000, 8)) ** 1.3 / 4, order=order).astype(kind)
    y = X[:, :5] @ rng.standard_normal(5) + 20 * rng.standard_normal(len(X))
    assert kept_type(X) == np.float32
    assert kept_type(X.astype(np.int32)) == np.float64
    kept = turned(X, Threads(1), kept_type(X))
    assert np.array_equal(kept, X)
    assert (kept is X) == (kind == "float32" and order == "F")
    with Threads(1) as crew:
        designs = [
            make_design(Z, np.ones(len(X)), crew) for Z in (X, np.asfortranarray(X, dtype=float))
        ]
        assert_allclose(designs[0].squares, designs[1].squares, rtol=1e-12)
        paths = [search(design, y[:, None], 1.0, 6, form="gram") for design in designs]
        passes = [search(design, y[:, None], 1.0, 6, form="pass") for design in designs]
    for trail in (paths[1], *passes):
        assert [step.feature for step in trail.moves] == [step.feature for step in paths[0].moves]
        assert_allclose(
            [step.error for step in trail.moves],
            [step.error for step in paths[0].moves],
            rtol=1e-12,
        )


@pytest.mark.parametrize("passes", ["compiled", "plain"])
@pytest.mark.parametrize("kind", ["float64", "float32", "int16", "int32", "bool"])
def test_data_in_c_order_are_turned_when_that_pays(monkeypatch, kind, passes):
    monkeypatch.setattr(TUNING, "turned_late_from", 1)
    monkeypatch.setattr(TUNING, "compiled_pass_from", 1 if passes == "compiled" else 1 << 40)
    rng = np.random.default_rng(2)
    size = 1.0 if kind in ("float64", "float32") else 50.0
    X = np.maximum(size * (rng.standard_normal((6000, 40)) + 1.0), 0.0).astype(kind)
    X[:, 7] = 3.0
    y = X[:, :5] @ rng.standard_normal(5) + rng.standard_normal(len(X))
    late = turned(X, Threads(1))
    assert isinstance(late, TurnedLate)
    assert np.shares_memory(late, X)
    plain = np.asfortranarray(X, dtype=float)
    ones = [row_blocks(of, 2)[1] for of in (late, plain)]
    V, some, means = rng.standard_normal((3000, 2)), np.array([3, 11, 5]), plain.mean(0)
    a, w = rng.integers(0, 2**63, 3000, dtype=np.uint64), rng.random(3000)
    every = np.arange(40)
    for turn in range(8):  # many columns come from a pass at first, then from a copy of them all
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
        assert ("_turned" in vars(ones[0])) == (turn > 2)
    with Threads(1) as crew:
        designs = [make_design(Z, np.ones(len(X)), crew) for Z in (X, plain)]
        assert designs[0].marks.tolist() == designs[1].marks.tolist()
        for asked in ("auto", "gram", "pass", "fused"):
            same_steps(*(search(design, y[:, None], 1.0, 9, form=asked) for design in designs))


@pytest.mark.parametrize("kind", ["float64", "float32", "int16", "uint8", "int32"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("how", ["forward", "swap"])
def test_wide_data_are_read_as_they_lie(monkeypatch, kind, order, step, how):
    """Copies with a little noise lose most of themselves, so that columns are read once more."""
    for name in ("turned_late_from", "compiled_search_from", "stepwise_from"):
        monkeypatch.setattr(TUNING, name, 1)
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
        assert designs[0].as_they_lie().dtype == (kind if step == 1 and kind != "int32" else float)
        asked = y[:, None], 1e-3, 20
        found = search(designs[0], *asked, search=how)
        assert found.form.startswith("fused")
        same_steps(found, search(designs[1], *asked, search=how))
        same_steps(found, search(designs[1], *asked, search=how, form="bounds"), rtol=1e-7)


def test_no_copy_is_made_beyond_the_budget(monkeypatch):
    monkeypatch.setattr(TUNING, "turned_late_from", 1)
    X = np.random.default_rng(3).standard_normal((9000, 12))
    with Threads(1) as crew:
        design = make_design(X, np.ones(len(X)), crew, memory=100.0)
    assert not any(block._turns_late for block in design.blocks)


# --- the fused form -------------------------------------------------------------------------------


@examples(15)
@given(problems(max_m=16, max_n=8, alphas=[1.0, 0.01, 0.0]), st.booleans())
def test_compiled_and_plain_against_refits(case, compiled):
    counted = int(np.count_nonzero(weights_of(case)))
    size = min(5, case.X.shape[1], counted - 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TUNING, "compiled_search_from", 0 if compiled else 1 << 40)
        patch.setattr(TUNING, "everyone_up_to", 0)
        design = design_of(case.X, weights_of(case), "three")
        trail = search(design, case.Y, case.alpha, size, form="fused")
    check_forward(trail, judge_of(case), size)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("kind", ["tall", "collinear", "offset", "scaled", "targets"])
def test_a_hundred_additions_and_removals_come_back_to_the_start(kind, compiled):
    T = 3 if kind == "targets" else 1
    X = make(kind, m=60, n=20, T=T, seed=1).X
    alpha = 1e-6 * np.linalg.norm(X - X.mean(0), 2) ** 2
    case = make(kind, m=60, n=20, T=T, seed=1, alpha=alpha)
    model = fused_of(case, compiled, "uneven", size=2)
    start = [3, 17, 5, 11]
    for i in start:
        model.add(i)

    def picture():
        order = np.argsort(model.chosen)
        scales = np.sqrt(model.design.squares[model.chosen])[order, None]
        return model.p.copy(), model.coef()[order] * scales, np.array([model.error])

    before, best = picture(), model.find_best_update("add")
    rng = np.random.default_rng(2)
    for _ in range(100):
        outside = [i for i in range(20) if i not in model.chosen]
        extra = rng.choice(outside, 3, replace=False)
        for i in extra:
            model.add(int(i))
        for i in rng.permutation(extra):
            model.drop(int(i))
        leaving = int(rng.choice(start))
        model.drop(leaving)
        model.add(leaving)
    for old, new in zip(before, picture(), strict=True):
        assert_allclose(new, old, rtol=1e-9, atol=1e-9 * np.abs(old).max())
    again = model.find_best_update("add")
    assert best.feature == again.feature
    assert_allclose(best.error, again.error, rtol=1e-9)
    assert_allclose(model.error, judge_of(case).error_of(start), rtol=1e-9)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("noise", [1e-3, 1e-6, 1e-8])
def test_rows_of_which_little_is_left_are_computed_afresh(monkeypatch, noise, compiled):
    """Without a penalty, columns that are copies but for a little noise, all of them chosen."""
    rng = np.random.default_rng(0)
    base = rng.standard_normal((60, 4))
    X = np.hstack([base, base @ rng.standard_normal((4, 4)) + noise * rng.standard_normal((60, 4))])
    Y = X @ rng.standard_normal((8, 1)) + 0.1 * noise * rng.standard_normal((60, 1))
    renewed = []
    renew = Fused._renew
    monkeypatch.setattr(Fused, "_renew", lambda *given: renewed.append(1) or renew(*given))
    monkeypatch.setattr(TUNING, "compiled_search_from", 0 if compiled else 1 << 40)
    expected = search(design_of(X), Y, 0.0, 8, form="blocks")
    found = search(design_of(X), Y, 0.0, 8, form="fused")
    assert renewed
    assert subsets(found) == subsets(expected)
    for k, step in expected.steps.items():
        assert_allclose(found.steps[k].error, step.error, rtol=max(1e-9, 1e-14 / noise))


@pytest.mark.parametrize("compiled", [False, True])
def test_copies_do_not_see_each_other_change(compiled):
    case = correlated(1, m=30, n=10)
    model = fused_of(case, compiled)
    for i in (1, 4, 7):
        model.add(i)
    expected = model.duplicate()
    best = expected.find_best_update("add")
    trials = [model.duplicate() for _ in range(3)]
    for trial, i in zip(trials, (1, 4, 7), strict=True):
        trial.drop(i)
    model.add(2)
    model.find_best_update("add")
    model.drop(4)
    for trial, i in zip(trials, (1, 4, 7), strict=True):
        rest = [j for j in (1, 4, 7) if j != i]
        alone = fused_of(case, compiled)
        for j in rest:
            alone.add(j)
        for some in ([j for j in range(10) if j != i], range(10)):
            assert trial.find_best_update("add", some).feature == (
                alone.find_best_update("add", some).feature
            )
        trial.add(0)
        alone.add(0)
        assert_allclose(trial.error, alone.error, rtol=1e-10)
        assert_allclose(trial.find_best_update("add").error, alone.find_best_update("add").error)
    assert expected.find_best_update("add") == best


def test_some_features_only_and_none():
    model = fused_of(make("tall", m=20, n=6, seed=6), False)
    model.add(2)
    assert model.find_best_update("add", [5, 2, 1]).feature in (1, 5)
    assert model.find_best_update("add", [2]) is None
    assert model.find_best_update("add", []) is None
    assert model.find_best_update("drop", []) is None
    some = (3, 4)
    first = model.find_best_update("add", some)
    assert model.find_best_update("add", some) == first
    for update, words in (
        (Update("add", 2, 0.0), "chosen already"),
        (Update("drop", 5, 0.0), "not chosen"),
    ):
        with pytest.raises(InputError, match=words):
            model.apply_update(update)
    with pytest.raises(InputError, match="'add' or 'drop'"):
        model.find_best_update("swap")


@pytest.mark.parametrize("everyone", [0, 1 << 14])
def test_costs_are_weighed_as_in_the_other_forms(monkeypatch, everyone):
    monkeypatch.setattr(TUNING, "everyone_up_to", everyone)
    case = make("tall", m=60, n=15, seed=3)
    costs = Costs(np.random.default_rng(0).uniform(0.5, 5.0, 15), 20.0)
    expected, found = (
        search(design_of(case.X), case.Y, 1.0, 8, form=form, costs=costs)
        for form in ("blocks", "fused")
    )
    same_steps(expected, found)


@pytest.mark.parametrize("how", ["forward", "floating", "swap"])
def test_threads_change_no_bit(monkeypatch, how):
    monkeypatch.setattr(TUNING, "compiled_search_from", 0)
    monkeypatch.setattr(TUNING, "thread_numbers", 100)
    monkeypatch.setattr(TUNING, "threaded_from", 0)
    case = make("targets", m=50, n=20, T=2, seed=4, weighted=True)
    trails = []
    for n in (1, 2, 5):
        with Threads(n) as crew:
            design = design_of(case.X, case.sw)
            design.threads = crew
            trails.append(search(design, case.Y, 0.1, 6, search=how, form="fused"))
    for trail in trails[1:]:
        assert [(m.feature, m.error) for m in trail.moves] == [
            (m.feature, m.error) for m in trails[0].moves
        ]
        for k, step in trail.steps.items():
            assert np.array_equal(step.coef, trails[0].steps[k].coef)


@pytest.mark.parametrize("weighted", [False, True])
def test_larger_problems_in_noise(monkeypatch, weighted):
    case = make("tall", m=120, n=80, seed=5, weighted=weighted)
    noise = Case(case.X, np.random.default_rng(6).standard_normal((120, 1)), 1.0, case.sw, "")
    given = (noise.Y, 1.0, 25)
    expected = search(design_of(noise.X, weights_of(noise)), *given, form="blocks")
    for compiled in (0, 1 << 40):
        monkeypatch.setattr(TUNING, "compiled_search_from", compiled)
        design = design_of(noise.X, weights_of(noise), "three")
        same_steps(expected, search(design, *given, form="fused"))
