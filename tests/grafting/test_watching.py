"""Callbacks, stopping and Ctrl-C: what is told, and that what was found is kept."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from sklearn.datasets import load_iris

from listening import Listener, listened
from sparsepath import (
    GraftingClassifier,
    GraftingClassifierCV,
    GraftingRegressor,
    GraftingRegressorCV,
    MLPGraftingClassifier,
    MLPGraftingRegressor,
    PathWarning,
    SelectionPath,
    grafting_path,
)
from sparsepath.grafting.engines import Engine
from sparsepath.grafting.joint_paths import JointPaths
from sparsepath.grafting.squares import SquaredProblem


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 8))
    f = X @ np.array([2.0, -1.5, 1, 0.5, 0, 0, 0, 0])
    y = f + rng.standard_normal(80)
    return X, y, np.digitize(y, [-1, 1])


ONE = {
    "single": GraftingRegressor(0.01, l0=1e-4),
    "batch": GraftingRegressor(0.01),
    "softmax": GraftingClassifier(0.01, l0=1e-4),
    "mlp": MLPGraftingRegressor(max_connections=5),
    "mlp-softmax": MLPGraftingClassifier(max_connections=5),
}
MANY = {
    "cv": GraftingRegressorCV(n_l1s=6, cv=3),
    "cv-classes": GraftingClassifierCV(n_l1s=6, cv=3, error="zero_one"),
    "cv-single": GraftingRegressorCV(n_l1s=4, cv=3, l0=1e-3),
}
every = pytest.mark.parametrize("name", [*ONE, *MANY])
one_fit = pytest.mark.parametrize("name", ONE)
cross_validated = pytest.mark.parametrize("name", MANY)


def make(name, data, **parameters):
    X, y, classes = data
    pattern = {**ONE, **MANY}[name]
    model = type(pattern)(**{**pattern.get_params(), **parameters})
    return model, X, y if "Regressor" in type(pattern).__name__ else classes


def plain(path):
    """Subsets and errors, to twelve digits: the certificates of the convex solver move the last."""
    each = [(step.error, step.train_error) for step in path.steps]
    return [step.subset for step in path.steps], [tuple(f"{e:.12g}" for e in pair) for pair in each]


@every
def test_the_callback_sees_growing_paths_and_changes_nothing(name, data):
    seen = []
    model, X, y = make(name, data, callback=seen.append)
    model.fit(X, y)
    assert all(isinstance(path, SelectionPath) and not path.complete for path in seen)
    quiet, *_ = make(name, data)
    quiet.fit(X, y)
    assert plain(quiet.path_) == plain(model.path_)
    assert quiet.path_.stopped == model.path_.stopped
    assert model.path_.complete
    assert "callback" not in model.path_.parameters
    moves = [len(path.moves) for path in seen]
    assert moves == sorted(moves)
    if name in MANY:
        assert len(seen) == len(model.l1s_) + 3
        assert [path.error_kind for path in seen[-4:]] == ["training", *["selection"] * 3]
        assert plain(seen[-1]) == plain(model.path_)
    elif name != "batch":
        assert len(seen) == sum(line.action == "add" for line in model.history_)


@every
@pytest.mark.parametrize("when", [1, 2])
def test_a_true_value_ends_the_work(name, data, when):
    seen = []

    def enough(path):
        seen.append(path)
        return len(seen) == when

    model, X, y = make(name, data, callback=enough)
    model.fit(X, y)
    assert len(seen) == when or name == "batch"  # the convex solver may need one round only
    assert model.path_.stopped == "asked to"
    assert plain(model.path_) == plain(seen[-1])
    assert model.predict(X).shape == y.shape
    assert "callback" not in model.path_.parameters


@every
@pytest.mark.parametrize("when", [1, 2])
def test_ctrl_c_keeps_what_was_found(name, data, when):
    seen = []

    def interrupt(path):
        seen.append(path)
        if len(seen) == when:
            raise KeyboardInterrupt

    model, X, y = make(name, data, callback=interrupt)
    with pytest.warns(PathWarning, match="interrupted"):
        model.fit(X, y)
    assert model.path_.stopped == "interrupted"
    assert not model.path_.complete
    assert plain(model.path_) == plain(seen[-1])
    assert model.predict(X).shape == y.shape


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("choose", ["one_se", "min", 3, 0.1])
def test_stopping_after_some_splits(data, jobs, choose):
    X, y, _ = data
    whole = GraftingRegressorCV(n_l1s=6, cv=5, choose="min").fit(X, y)
    for done in (1, 2):
        calls = []

        def enough(path, calls=calls, done=done):
            calls.append(path)
            return len(calls) == 6 + done

        part = GraftingRegressorCV(n_l1s=6, cv=5, n_jobs=jobs, choose=choose, callback=enough)
        part.fit(X, y)
        assert part.path_.stopped == "asked to"
        assert (part.cv_errors_ == whole.cv_errors_[:, :done]).all()
        assert part.path_.error(part.path_.sizes[-1]) in part.cv_errors_.mean(1)


def test_stopping_the_path_before_any_split(data):
    X, y, _ = data
    whole = GraftingRegressorCV(n_l1s=6, cv=3).fit(X, y)
    seen = []
    part = GraftingRegressorCV(n_l1s=6, callback=lambda path: seen.append(path) or len(seen) == 4)
    part.fit(X, y)
    assert part.l1s_ == pytest.approx(whole.l1s_[:4])
    assert part.cv_errors_.shape == (4, 0)
    assert part.path_.error_kind == "training"
    assert part.kkt_violation_ < 1e-8


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_among_the_splits(data, jobs):
    X, y, _ = data
    whole = GraftingRegressorCV(n_l1s=6, cv=5).fit(X, y)
    calls = []

    def interrupt(path):
        calls.append(path)
        if len(calls) == 8:
            raise KeyboardInterrupt

    part = GraftingRegressorCV(n_l1s=6, cv=5, n_jobs=jobs, callback=interrupt)
    with pytest.warns(PathWarning, match="interrupted"):
        part.fit(X, y)
    assert not part.path_.complete
    assert (part.cv_errors_ == whole.cv_errors_[:, :2]).all()


def test_ctrl_c_within_a_split(monkeypatch, data):
    X, y, _ = data
    whole = GraftingRegressorCV(n_l1s=6, cv=5).fit(X, y)
    begun = []

    def path(self, *arguments, **named):
        begun.append(1)
        if len(begun) == 4:  # all data and two splits are done
            raise KeyboardInterrupt
        return plain_path(self, *arguments, **named)

    plain_path = SquaredProblem.path
    monkeypatch.setattr(SquaredProblem, "path", path)
    part = GraftingRegressorCV(n_l1s=6, cv=5)
    with pytest.warns(PathWarning, match="interrupted"):
        part.fit(X, y)
    assert (part.cv_errors_ == whole.cv_errors_[:, :2]).all()


@pytest.mark.skipif(os.name == "nt", reason="SIGINT cannot be sent to a process on Windows")
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_real_ctrl_c(jobs):
    program = f"""
        import warnings
        import numpy as np
        from sklearn.model_selection import ShuffleSplit
        from sparsepath import GraftingRegressorCV, PathWarning

        rng = np.random.default_rng(0)
        X = rng.standard_normal((200, 20))
        y = X[:, 0] + rng.standard_normal(200)
        seen = []

        def tell(path):
            seen.append(path)
            if len(seen) == 8:
                print("go", flush=True)

        cv = ShuffleSplit(5000, random_state=0)
        model = GraftingRegressorCV(n_l1s=6, cv=cv, n_jobs={jobs}, callback=tell)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, y)
        assert [w.category for w in caught] == [PathWarning], caught
        assert model.path_.stopped == "interrupted"
        print(model.cv_errors_.shape[1], np.isfinite(model.predict(X)).all())
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout.readline() == "go\n"
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=120)
    finally:
        child.kill()
    assert child.returncode == 0
    splits, finite = out.split()
    assert 2 <= int(splits) < 5000
    assert finite == "True"


def test_grafting_path_stops_and_keeps(data):
    X, y, _ = data
    whole = grafting_path(X, y, n_l1s=6)
    assert whole.path.complete
    seen = []
    part = grafting_path(X, y, n_l1s=6, callback=lambda path: seen.append(path) or len(seen) == 3)
    assert len(part.l1s) == len(part.fits) == len(part.criteria) == 3
    assert (part.coefs == whole.coefs[:3]).all()
    assert part.path.stopped == "asked to"


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_results_do_not_depend_on_the_jobs(data, n_jobs):
    X, y, classes = data
    one = GraftingRegressorCV(n_l1s=8).fit(X, y)
    other = GraftingRegressorCV(n_l1s=8, n_jobs=n_jobs).fit(X, y)
    assert (one.cv_errors_ == other.cv_errors_).all()
    assert (one.coef_ == other.coef_).all()
    assert one.path_.parameters == other.path_.parameters
    one = GraftingClassifierCV(n_l1s=5).fit(X, classes)
    other = GraftingClassifierCV(n_l1s=5, n_jobs=n_jobs).fit(X, classes)
    assert (one.cv_errors_ == other.cv_errors_).all()


def interrupted_optimise(monkeypatch, at):
    calls = []

    def optimise(self, *arguments):
        calls.append(1)
        if len(calls) == at:
            self.W[:] = 7.0  # half way through
            raise KeyboardInterrupt
        return plain_optimise(self, *arguments)

    plain_optimise = Engine.optimise
    monkeypatch.setattr(Engine, "optimise", optimise)


def test_ctrl_c_within_an_optimisation(monkeypatch, data):
    X, y, _ = data
    whole = grafting_path(X, y, n_l1s=6, loss="huber")
    gradients, calls = JointPaths._gradients, []

    def interrupted(self, paths):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return gradients(self, paths)

    with monkeypatch.context() as patch:
        patch.setattr(JointPaths, "_gradients", interrupted)
        with pytest.warns(PathWarning, match="interrupted"):
            part = grafting_path(X, y, n_l1s=6, loss="huber")
    kept = len(part.fits)
    assert 0 < kept < 6
    assert (part.coefs == whole.coefs[:kept]).all()
    assert part.path.stopped == "interrupted"
    with monkeypatch.context() as patch:
        interrupted_optimise(patch, 1)
        with pytest.raises(KeyboardInterrupt):  # nothing to keep
            GraftingRegressor(0.01).fit(X, y)


def test_ctrl_c_in_the_second_round_of_the_convex_solver(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((150, 60))
    y = X[:, :40] @ rng.standard_normal(40) + rng.standard_normal(150)
    seen = []
    whole = GraftingRegressor(0.001, callback=seen.append).fit(X, y)
    assert len(seen) > 1
    assert plain(seen[0]) != plain(whole.path_)
    interrupted_optimise(monkeypatch, 2)
    part = GraftingRegressor(0.001)
    with pytest.warns(PathWarning, match="interrupted"):
        part.fit(X, y)
    assert part.path_.stopped == "interrupted"
    assert plain(part.path_) == plain(seen[0])
    assert part.kkt_violation_ > 1e-8


@listened
@every
def test_callbacks_of_scikit_learn(name, data):
    seen, listener = [], Listener()
    model, X, y = make(name, data, callback=seen.append)
    model.set_callbacks(listener).fit(X, y)
    told = len(seen)
    assert listener.events == ["setup", "begin", *["begin", "end"] * told, "end", "teardown"]
    assert len(listener.models) == told
    for fitted, path in zip(listener.models, seen, strict=True):
        assert fitted.predict(X).shape == y.shape
        assert plain(fitted.path_) == plain(path)
    model.set_callbacks(Listener(stop_at=1)).fit(X, y)
    assert model.path_.stopped == "asked to"
    assert plain(model.path_) == plain(seen[0])


@listened
@every
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_progress_bar_of_scikit_learn(name, data, capsys):
    model, X, y = make(name, data)
    from sklearn.callback import ProgressBar

    model.set_callbacks(ProgressBar()).fit(X, y)
    assert type(model).__name__ in capsys.readouterr().out


def test_stopping_ends_the_other_tolerances():
    X, y = load_iris(return_X_y=True)
    seen = []
    model = MLPGraftingClassifier(
        tol=[1e-3, 1e-7], callback=lambda path: seen.append(path) or len(seen) == 2
    ).fit(X, y)
    assert model.tol_ == 1e-3
    assert len(seen) == 2
    assert model.network_.n_connections == 2


def test_ctrl_c_between_points_of_a_path_by_products(monkeypatch, data):
    X, y, _ = data
    whole = grafting_path(X, y, n_l1s=6)
    plain = SquaredProblem._path

    class Interrupted:
        def __init__(self, path):
            self.path, self.calls = path, 0

        def go_to(self, l1, tol):
            self.calls += 1
            if self.calls == 4:
                raise KeyboardInterrupt
            self.path.go_to(l1, tol)

        def __getattr__(self, name):
            return getattr(self.path, name)

    monkeypatch.setattr(
        SquaredProblem, "_path", lambda self, penalty: Interrupted(plain(self, penalty))
    )
    with pytest.warns(PathWarning, match="interrupted"):
        part = grafting_path(X, y, n_l1s=6)
    assert len(part.fits) == 3
    assert (part.coefs == whole.coefs[:3]).all()
    assert part.path.stopped == "interrupted"
