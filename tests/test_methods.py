"""The table of methods: every document says what it says, and one entry makes a method known."""

import inspect
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

import sparsepath
from contract import every, test_data, test_paths, test_stopping
from contract.test_data import shared_out  # noqa: F401 (a fixture)
from contract.test_stopping import handled  # noqa: F401 (a fixture)
from sparsepath import (
    GraftingCox,
    GraftingCoxCV,
    InputError,
    SparseKernelRLSRegressor,
    TableSelector,
    compare,
)
from sparsepath.assessment.deviance import LOSSES as DEVIANCES
from sparsepath.base import Callback, CallbackSupportMixin, Found, Given, Run, Trail, fitting
from sparsepath.base.fitting import IN_PASSES
from sparsepath.base.selector import PathSelector
from sparsepath.data.columns import moments
from sparsepath.data.readers import write_table
from sparsepath.data.validation import check_features, check_target
from sparsepath.methods import METHODS, OPTIONS, Method, called_here, load, selectors
from sparsepath.path.selection_path import LONGEST_PATH
from sparsepath.path.steps import Step
from sparsepath.rls.criteria.table import CLASSES

ROOT = Path(__file__).parents[1]
ESTIMATORS = [
    name
    for name in sparsepath.__all__
    if isinstance(kind := getattr(sparsepath, name), type) and issubclass(kind, BaseEstimator)
]


def test_every_public_selector_belongs_to_a_method():
    public = {
        name
        for name in sparsepath.__all__
        if isinstance(kind := getattr(sparsepath, name), type) and issubclass(kind, PathSelector)
    }
    assert public == {*selectors(), "TableSelector"}  # which stands on top of any of them


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_unknown_parameter_is_refused_in_the_name_of_the_estimator(name):
    with pytest.raises(TypeError, match=rf"^{name}\b.*'unheard_of'"):
        getattr(sparsepath, name)(unheard_of=1)


def test_parameters_of_other_selectors_get_a_hint():
    with pytest.raises(TypeError, match=r"^GraftingRegressor has no 'scoring'; use loss"):
        sparsepath.GraftingRegressor(scoring="r2")
    with pytest.raises(TypeError, match="choose=K for exactly K features"):
        sparsepath.SparseRLSClassifier(n_features_to_select=3)


def test_entries_name_what_there_is():
    assert {option for method in METHODS.values() for option in method.options} == set(OPTIONS)
    for method in METHODS.values():
        assert (ROOT / "docs" / "methods" / method.page).exists()
        for estimator in method.estimators:
            assert method.regressor
            assert load(estimator).__doc__
        losses = {loss for task in method.losses.values() for loss in task}
        assert losses <= set(OPTIONS["loss"].values)
        if method.name.endswith("y-rls"):
            assert {loss.replace("-", "_") for loss in losses} == {*CLASSES, *DEVIANCES}
    assert not set(called_here()) & set(METHODS)


# --- the tables of the documents ------------------------------------------------------------------


def code(words):
    return " ".join(f"`{word}`" for word in words)


def table(*columns):
    """A table as Markdown, from pairs of a heading and what it shows of a method."""
    rows = [[heading for heading, _ in columns], ["---"] * len(columns)]
    rows += [[shown(method) for _, shown in columns] for method in METHODS.values()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def estimators(method):
    names = dict.fromkeys(load(estimator).__name__ for estimator in method.estimators)
    return ", ".join(f"`{name}`" for name in names)


def options(method):
    usual = {"max-features", "choose", "threads"}
    return code(f"--{option}" for option in OPTIONS if option in method.options - usual)


def tasks(method):
    return f"{', '.join(method.tasks)}{' (two classes)' * method.two_classes}"


def in_passes(method):
    given = code(f"--{option}" for option in method.given)
    return {"yes": "yes", "given": f"with {given}", "": "no"}[method.streams]


def linked(method):
    return f"[`{method.name}`]({method.page})"


TABLES = [
    (
        "docs/methods/index.md",
        table(
            ("method", linked),
            ("take it when", lambda method: method.when),
            ("tasks", tasks),
            ("made for", lambda method: method.limits or "any size"),
            ("data in passes", in_passes),
        ),
    ),
    (
        "docs/methods/index.md",
        table(
            ("method", linked),
            ("estimators", estimators),
            ("one step costs", lambda method: method.cost),
        ),
    ),
    (
        "docs/cli.md",
        table(
            ("`--method`", lambda method: f"`{method.name}`"),
            ("what it does", lambda method: method.summary.rstrip(".")),
            ("tasks", tasks),
            ("its options", options),
            ("criterion", lambda method: method.criterion),
        ),
    ),
]


@pytest.mark.parametrize(("page", "shown"), TABLES)
def test_documents_show_the_table(page, shown):
    text = (ROOT / page).read_text("utf-8")
    assert shown in text, f"{page} should hold\n{shown}"


# --- a new method is one class and one entry ------------------------------------------------------


class ToySelector(RegressorMixin, PathSelector, CallbackSupportMixin, BaseEstimator):
    """Columns by their correlation with the target; least squares on them.

    Attributes
    ----------
    path_, models_, selected_, n_features_in_, feature_names_in_, honest_
        As for all selectors.
    """

    def __init__(self, max_features=None, choose="min", validation=None, callback: Callback = None):
        self.max_features = max_features
        self.choose = choose
        self.validation = validation
        self.callback = callback

    @fitting
    def fit(self, X, y):
        given = Given.of(X, y)
        X = check_features(self, X, reset=True)
        Y, _ = check_target(y, len(X))
        means, scales, varies = moments(X)
        worth = np.where(varies, np.abs((X - means).T @ (Y[:, 0] - Y.mean())) / scales, 0.0)
        order = [j for j in np.argsort(-worth, kind="stable").tolist() if worth[j] > 0]
        trail, kind = Trail(), {"criterion": "squared error", "error_kind": "training"}

        def found():
            return Found.on(trail, **kind) if trail.moves else None

        with Run(self, given, X, method="toy", found=found) as run:
            for k in range(min(self.max_features or len(order), len(order)) + 1):
                columns = order[:k]
                A = np.column_stack([X[:, columns], np.ones(len(X))])
                w, *_ = np.linalg.lstsq(A, Y, rcond=None)
                error = float(np.mean((Y - A @ w) ** 2))
                step = Step(tuple(columns), error, coef=w[:-1], intercept=w[-1])
                trail.offer(step, [trail.move("add", columns[-1], error)] if k else [])
                if k and run.tell():
                    break
        return run.settle()

    def _take(self, size):
        self.selected_ = np.array(self.path_.subset(size), dtype=np.intp)

    def predict(self, X):
        """As the model of this size does."""
        X = check_features(self, X, reset=False)
        return self.models_[len(self.selected_)].predict(X)[:, 0]


TOY = Method(
    name="toy",
    summary="Columns by their correlation with the target.",
    when="never",
    regressor=ToySelector,
    options=frozenset({"max-features", "choose"}),
    page="index.md",
    cost="nothing",
    criterion="training",
)


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setitem(METHODS, "toy", TOY)
    monkeypatch.setitem(every.SELECTORS, "ToySelector", selectors()["ToySelector"])
    return "ToySelector"


@pytest.fixture
def fitted():
    return lambda name: every.make(name).fit(every.X, every.target(name))


def promises():
    """Every test of the contract that is of every selector, with every case of it."""
    found = []
    for module in (test_data, test_paths, test_stopping):
        for title, test in vars(module).items():
            marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
            given = {mark.args[0]: mark.args[1] for mark in marks}
            if title.startswith("test_") and "LarsSelector" in given.pop("name", ()):
                for values in product(*given.values()):
                    case = dict(zip(given, values, strict=True))
                    called = [getattr(value, "__name__", str(value)) for value in values]
                    found.append(pytest.param(test, case, id=" ".join([title, *called])))
    return found


@pytest.mark.filterwarnings("ignore:the path ends at size 2")
@pytest.mark.parametrize(("test", "case"), promises())
def test_a_new_method_keeps_the_contract(toy, test, case, request):
    fixtures = set(inspect.signature(test).parameters) - {"name", *case}
    test(toy, **case, **{fixture: request.getfixturevalue(fixture) for fixture in fixtures})


def test_a_new_method_is_on_the_command_line(toy, tmp_path, capsys):
    from sparsepath.cli import main

    file = tmp_path / "data.csv"
    columns = {f"x{j}": every.X[:, j] for j in range(6)}
    write_table(file, {**columns, "y": every.NUMBERS})
    call = ["select", str(file), "--target", "y", "--method", "toy", "--max-features", "3"]
    assert main([*call, "--out", str(tmp_path / "out")]) == 0
    assert "Method: toy" in capsys.readouterr().out
    assert main(["predict", str(tmp_path / "out" / "model.json"), str(file)]) == 0
    assert capsys.readouterr().out.count("\n") == 49
    assert main([*call, "--alpha", "1"]) == 2
    assert "toy has no option --alpha" in capsys.readouterr().err


def test_methods_are_compared_by_their_names(toy):
    both = compare(["toy", "lars"], every.X, every.NUMBERS, validation=3)
    assert {one.name for one in both.contestants} == {"toy", "lars"}
    with pytest.raises(InputError, match=r"no method 'lasso'.*called grafting here"):
        compare(["lasso"], every.X, every.NUMBERS)


@pytest.mark.parametrize("name", METHODS)
def test_the_table_says_which_methods_read_data_in_passes(name):
    method = METHODS[name]
    X = np.random.default_rng(0).standard_normal((40, 3))
    data = sparsepath.open(X, X[:, 0])
    fixed = dict.fromkeys(method.given, 0.1)
    for given in ({}, fixed):
        model = method.make("regression", validation=None, **given)
        if method.reads_in_passes(given):
            assert 0 in model.fit(data).selected_
            assert type(model).__name__ in IN_PASSES
        else:
            said = f"{type(model).__name__} needs data in memory.*pandas.*: {IN_PASSES}"
            with pytest.raises(InputError, match=said):
                model.fit(data)
            with pytest.raises(InputError, match=said):
                TableSelector(model, validation=None).fit(data)


@pytest.mark.parametrize("maker", [SparseKernelRLSRegressor, GraftingCox, GraftingCoxCV])
def test_others_need_data_in_memory(maker):
    X = np.random.default_rng(0).standard_normal((40, 3))
    with pytest.raises(InputError, match=f"{maker.__name__} needs data in memory"):
        maker().fit(sparsepath.open(X, X[:, 0]))


# --- defaults -------------------------------------------------------------------------------------

AS_TYPED = {"True": "standardize", "zero_one": "zero-one", "1.0": "1", "0.0": "0"}
NONE = {  # what an estimator does without a value, in words
    "class-weight": "by frequency",
    "threshold": "score zero",
    "threads": "one per core",
}
UNSAID = {"force", "forbid", "start", "significance", "checkpoint"}  # not given: not done
CHOSEN = {"l1", "l0", "r", "t"}  # by cross-validation, where the estimator has a list of them


def default_of(name, method, estimator):
    """The default of an option as typed; None where this estimator has no such parameter."""
    takes = inspect.signature(load(estimator)).parameters
    parameter = OPTIONS[name].parameter
    if name in CHOSEN and f"{parameter}s" in takes:
        return "chosen by cross-validation"
    if name == "threads" and "n_jobs" in takes:
        parameter = "n_jobs"
    if parameter not in takes:
        return None
    value = method.parameters.get(parameter, takes[parameter].default)
    if name == "max-features":
        longest = LONGEST_PATH if method.longest is None else method.longest
        return f"at most {longest}"
    return NONE.get(name, "none") if value is None else AS_TYPED.get(str(value), str(value))


@pytest.mark.parametrize("name", sorted(OPTIONS.keys() - UNSAID - {"weights", "groups"}))
def test_the_help_shows_the_defaults_of_the_estimators(name):
    found = {}
    for method in METHODS.values():
        tasks = (method.regressor, method.classifier, method.survival)
        for task, estimator in zip(
            ("regression", "classification", "survival"), tasks, strict=True
        ):
            if name not in method.options or not estimator:
                continue
            if name == "loss" and task not in method.losses:  # it has no choice
                continue
            if (value := default_of(name, method, estimator)) is not None:
                found.setdefault(value, {})[method.name] = None
    usual = max(found, key=lambda value: len(found[value]))
    parts = [usual.replace("at most", "all, at most")]
    for value, methods in found.items():
        if value != usual:
            parts.append(
                f"{value} for {' and '.join(methods).replace(' and ', ', ', len(methods) - 2)}"
            )
    shown = OPTIONS[name].default
    if name == "time-budget":  # of auto: a rule in place of none
        shown = shown.split(";")[0]
    assert shown == "; ".join(parts)


def test_linear_methods_have_ten_folds_and_the_others_five():
    few = {name for name, method in METHODS.items() if load(method.regressor)()._n_folds == 5}
    linear = {name for name in METHODS if name.endswith("-rls")} | {"grafting", "lars"}
    assert few == METHODS.keys() - linear
    assert all(load(METHODS[name].regressor)()._n_folds == 10 for name in linear)
