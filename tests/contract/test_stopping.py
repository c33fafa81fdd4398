"""What every selector tells while it works, and what is kept when it is stopped."""

import inspect
import signal
import threading
import time
import warnings

import pytest
from sklearn.exceptions import NotFittedError

from contract.every import NAMES, NEW, X, answers, make, plain, takes, target
from sparsepath import PathWarning, SelectionPath

every = pytest.mark.parametrize("name", NAMES)
telling = pytest.mark.parametrize("name", [name for name in NAMES if takes(name, "callback")])


@telling
def test_the_callback_sees_growing_paths_and_changes_nothing(name):
    seen = []
    model = make(name, callback=seen.append).fit(X, target(name))
    assert seen
    assert all(isinstance(path, SelectionPath) for path in seen)
    assert not any(path.complete for path in seen)
    assert all(path.stopped == "" for path in seen)
    for sizes in ([len(path.moves) for path in seen], [len(path.sizes) for path in seen]):
        assert sizes == sorted(sizes) or takes(name, "ts") or takes(name, "r")
    about = ("method", "n_features", "feature_names", "data", "seed", "parameters", "versions")
    for path in (seen[0], seen[-1]):
        for what in about:
            assert getattr(path, what) == getattr(model.path_, what), what
    quiet = make(name).fit(X, target(name))
    assert plain(quiet.path_) == plain(model.path_)
    assert quiet.path_.stopped == model.path_.stopped
    assert model.path_.complete


@telling
@pytest.mark.parametrize("when", [1, 2])
@pytest.mark.parametrize("choose", [None, 5])
def test_a_true_value_ends_the_work_and_the_path_is_kept(name, when, choose):
    seen = []

    def enough(path):
        seen.append(path)
        return len(seen) == when

    more = {"choose": choose} if choose is not None and takes(name, "choose") else {}
    model = make(name, callback=enough, **more).fit(X, target(name))
    if len(seen) < when:
        pytest.skip("it was done sooner")
    assert model.path_.stopped == "asked to"
    assert not model.path_.complete
    assert plain(model.path_) == plain(seen[-1])
    assert len(answers(model)) == len(NEW)


@telling
@pytest.mark.parametrize("when", [1, 2])
def test_ctrl_c_keeps_the_path_so_far(name, when, handled):
    seen = []

    def interrupt(path):
        seen.append(path)
        if len(seen) == when:
            signal.raise_signal(signal.SIGINT)

    model = make(name, callback=interrupt)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, target(name))
    if len(seen) < when:
        pytest.skip("it was done sooner")
    told = [w for w in caught if issubclass(w.category, PathWarning)]
    assert any("interrupted" in str(w.message) for w in told)
    theirs = not type(model).__module__.startswith("sparsepath.")  # lines of a method of others
    lines = {__file__, inspect.getfile(type(model))} if theirs else {__file__}
    assert {w.filename for w in told} <= lines
    assert model.path_.stopped == "interrupted"
    assert not model.path_.complete
    assert plain(model.path_) == plain(seen[-1])
    assert len(answers(model)) == len(NEW)


@pytest.fixture
def handled():
    """Python's own answer to SIGINT, whatever the surroundings of the tests set."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def fit_with_signal(model, y, seconds):
    """Fit, with a real SIGINT after so many seconds; whether an exception came out."""
    main = threading.main_thread().ident
    timer = threading.Timer(seconds, lambda: signal.pthread_kill(main, signal.SIGINT))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            timer.start()
            try:
                model.fit(X, y)
            finally:
                timer.cancel()
                timer.join()
                time.sleep(0)  # a signal that is on its way arrives here
    except KeyboardInterrupt:
        return True
    return False


# In the middle of a destructor Python itself drops the signal, and says so; the fit goes on.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@every
@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signals to threads here")
def test_a_signal_at_any_time_leaves_all_or_nothing(name, handled):
    y = target(name)
    make(name).fit(X, y)  # whatever is compiled or loaded first
    begun = time.perf_counter()
    whole = make(name).fit(X, y)
    seconds = time.perf_counter() - begun
    for part in (0.02, 0.3, 0.6, 0.9):
        model = make(name)
        raised = fit_with_signal(model, y, part * seconds)
        if hasattr(model, "path_"):
            path = model.path_
            assert path.complete or path.stopped == "interrupted"
            assert len(answers(model)) == len(NEW)
            assert path.sizes[0] == 0
            if path.complete:
                assert plain(path) == plain(whole.path_)
            for size in path.sizes:
                assert len(answers(model.at_size(size))) == len(NEW)
        else:
            assert raised
            with pytest.raises(NotFittedError):
                model.transform(NEW)


@every
def test_an_interrupt_before_there_is_a_path_leaves_what_was_there(name, monkeypatch):
    y = target(name)
    model = make(name).fit(X, y)
    before, known = answers(model), dict(vars(model))

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("sparsepath.base.run.Run.__enter__", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :4], y)
    monkeypatch.undo()
    assert vars(model).keys() == known.keys()
    assert (answers(model) == before).all()


def stop(path):
    return len(path.moves) == 2


def interrupt(path):
    if len(path.moves) == 2:
        signal.raise_signal(signal.SIGINT)


@every
@pytest.mark.parametrize("end", [stop, interrupt])
@pytest.mark.filterwarnings("ignore:the path ends at size 2")
def test_a_search_goes_on_from_its_checkpoint(name, end, tmp_path, handled):
    if not takes(name, "checkpoint"):
        pytest.skip("it keeps no checkpoint")
    file = tmp_path / "search.json"
    whole = make(name).fit(X, target(name))
    part = make(name, checkpoint=file, callback=end)
    part.fit(X, target(name))
    assert file.exists()
    assert len(part.path_.moves) == 2
    resumed = make(name, checkpoint=file).fit(X, target(name))
    assert resumed.path_.subsets == whole.path_.subsets
    assert (resumed.path_.errors == whole.path_.errors).all()
    assert resumed.path_.complete
    assert (answers(resumed) == answers(whole)).all()
