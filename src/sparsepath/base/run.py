"""The run of a fit: start, search, report, stop, choose a size, warn.

An estimator's ``fit`` checks its arguments, prepares the search, and then::

    with Run(self, given, X, method="lars", found=found) as run:
        for column in entering:
            trail.offer(step, [trail.move("add", column, step.error)])
            if run.tell():
                break
    return run.settle()

``found()`` returns the result so far, or None if there is nothing to keep; it is called only when
the result is needed. A search can be stopped from outside by a callback that returns true and by
Ctrl-C. Both only end the ``with`` block, and the result so far is used. Code below need not catch
an interrupt; it must keep its results where ``found`` can read them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from numbers import Integral
from typing import Any, Self

from sklearn.base import BaseEstimator

from sparsepath.base.callbacks import begin, listeners, tell_listeners
from sparsepath.base.parameters import check_shared
from sparsepath.base.parameters import random_state as checked_random_state
from sparsepath.base.trail import Trail
from sparsepath.data.fingerprint import fingerprint
from sparsepath.data.fit_arguments import Given
from sparsepath.data.validation import check_features, check_weights
from sparsepath.errors import warn_user
from sparsepath.models.predictors import Predictor
from sparsepath.path.selection_path import SelectionPath
from sparsepath.path.steps import Move, Step
from sparsepath.system.interrupts import Stop, is_interrupt

# Parameters that change no result, and the random state, whose seed is recorded.
UNSAID = ("callback", "checkpoint", "memory_budget", "n_jobs", "n_threads", "random_state")


def open_fit(estimator: Any, X: Any, y: Any, **more: Any) -> tuple[Given, Any]:
    """Return the raw fit arguments, with checked weights, and the checked features."""
    check_shared(estimator)
    features = check_features(estimator, X, reset=True)
    if more.get("sample_weight") is not None:
        more["sample_weight"] = check_weights(more["sample_weight"], features.shape[0])
    return Given.of(X, y, **more), features


class Call(BaseEstimator):
    """A function call that runs like a fit; its arguments take the place of parameters."""

    _names: Sequence[str] = ()

    @classmethod
    def of(cls, arguments: Mapping[str, Any], but: Sequence[str]) -> "Call":
        """Create it from ``locals()`` at the first line of a function, without some names."""
        call = cls()
        call._names = [name for name in arguments if name not in but]
        call.__dict__.update({name: arguments[name] for name in call._names})
        return call

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments."""
        return {name: getattr(self, name) for name in self._names}


def parameters_of(estimator: Any) -> dict[str, Any]:
    """Return the parameters that influence the result."""
    kind: Any = type(estimator)
    if kind.get_params is BaseEstimator.get_params:
        return {name: getattr(estimator, name) for name in _said(kind)}
    given = estimator.get_params(deep=False)
    return {name: value for name, value in given.items() if name not in UNSAID}


@cache
def _said(kind: Any) -> tuple[str, ...]:
    """Return the names of these parameters (cached: the lookup takes as long as a small search)."""
    return tuple(name for name in kind._get_param_names() if name not in UNSAID)


def data_of(X: Any, given: Given) -> dict[str, Any]:
    """Return size and fingerprint of checked features, targets and weights."""
    name = fingerprint(X, given.y, given.more.get("sample_weight"))
    return {"n_samples": X.shape[0], "n_features": X.shape[1], "fingerprint": name}


def seed_of(random_state: Any) -> int:
    """Return an integer seed for a random state: the integer itself, or one drawn from it.

    It is drawn once and recorded on the path, so that the path can be reproduced.
    """
    drawn = checked_random_state(random_state)
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(drawn.randint(2**31 - 1))


@dataclass(frozen=True, eq=False)
class Found:
    """Result of a search so far."""

    steps: Mapping[int, Step] | Iterable[Step]  # as for SelectionPath
    moves: Iterable[Move] = ()
    start: Iterable[int] = ()
    criterion: str = "leave-one-out squared error"
    error_kind: str = "selection"
    # Fitted attributes of the estimator, private ones too, that go with the path.
    fitted: Mapping[str, Any] = field(default_factory=dict)
    # By size: the models of the path; not needed if the steps hold linear ones.
    models: Mapping[int, Predictor] = field(default_factory=dict)
    # What the path is to say of parameters that were settled by the data.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    # The size that the method itself means; None: the estimator's choose decides.
    size: int | None = None
    stopped: str = ""  # why the search came to its end, if it did and says so
    # What the path is to say of its data beside their sizes and fingerprint.
    data: Mapping[str, Any] = field(default_factory=dict)
    # The path, if it is one of several that are made already; then chosen is the size that the
    # estimator's choose comes to over all of them.
    path: SelectionPath | None = None
    chosen: int | None = None
    # How the search ended, besides an interrupt.
    said: Sequence[str] = ()

    @classmethod
    def on(cls, trail: Trail, **more: Any) -> "Found":
        """Create it from the content of a trail."""
        return cls(trail.steps, trail.moves, stopped=trail.stopped, **more)


def _nothing() -> None:
    """Raise an error: the search has ended and its state was released."""


class _StopRequestedError(Exception):
    """Raised to stop a search that has no other way to stop."""


class Run:
    """One fit of an estimator; see the module.

    The estimator's ``_settle_on(path, given)`` chooses a size of a whole path, and ``_take(size)``
    uses the model of a size. ``X`` are the features, checked; ``found`` says what there is so far,
    None: nothing to keep yet. ``subtasks`` are the most reports that it will make, if that is
    known. ``data`` gives what a path says of the data, if the method has marked them already (see
    ``data_of``). ``validation`` are more arguments of the estimator's ``_validated``, which makes
    of a whole path and the rule to choose by the same with honest errors. Of several searches
    ``paths`` has the path of each by name.

    ``stopped`` is ``Stop.ASKED`` or ``Stop.INTERRUPTED`` if the search was ended from outside.
    """

    def __init__(
        self,
        estimator: Any,
        given: Given,
        X: Any,
        *,
        method: str,
        found: Callable[[], Found | None],
        subtasks: int | None = None,
        seed: int | None = None,
        data: Callable[[], Mapping[str, Any]] | None = None,
        validation: Mapping[str, Any] | None = None,
        paths: Mapping[Any, SelectionPath] | None = None,
    ) -> None:
        self.estimator, self.given, self.X = estimator, given, X
        self.method, self.found, self.seed = method, found, seed
        self.stopped = ""
        self._subtasks = subtasks
        self._data = partial(data_of, X, given) if data is None else data
        self._known: Mapping[str, Any] | None = None  # what that says, once it is asked
        self._validation = dict(validation or {})
        if paths is not None:
            self._validation["paths"] = paths
        self._context: Any = None
        # Fitted attributes that validation settles; a fit before may have left others.
        self._replaced: dict[str, Any] = {"_slopes": {}} if "_slopes" in vars(estimator) else {}

    def __enter__(self) -> Self:
        if hasattr(self.estimator, "_check_validation"):  # now, not when the search has ended
            self.estimator._check_validation(self.X.shape[0])
        self._context = begin(self.estimator, self._subtasks, self.X, self.given.y)
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, _StopRequestedError):
            return True
        if interrupted := is_interrupt(error):
            self.stopped = Stop.INTERRUPTED
        return interrupted and self.found() is not None

    @property
    def watched(self) -> bool:
        """True if there are callbacks."""
        return self.estimator.callback is not None or listeners(self.estimator)

    def path(self) -> SelectionPath:
        """The selection path, after the search."""
        return self._path(self._all_found(), ended=True)

    def _all_found(self) -> Found:
        """Return the final results of the search, once.

        Afterwards the run releases the search, because reference cycles would keep the data in
        memory.
        """
        found, self.found = self.found(), _nothing
        if found is None:
            raise RuntimeError("the search has ended with nothing found")
        return found

    def _path(self, found: Found, *, ended: bool) -> SelectionPath:
        """Return the path of a result; complete if the search finished."""
        if found.path is not None:
            return found.path
        stopped = (self.stopped or found.stopped) if ended else ""
        return self.made(found, stopped=stopped, complete=ended and not self.stopped)

    def made(self, found: Found, *, stopped: str, complete: bool = True) -> SelectionPath:
        """Create a path from a result (the only place where paths are created)."""
        if self._known is None:
            self._known = self._data()
        return SelectionPath(
            found.steps,
            n_features=self.X.shape[1],
            feature_names=getattr(self.estimator, "feature_names_in_", None),
            method=self.method,
            seed=self.seed,
            moves=found.moves,
            start=found.start,
            criterion=found.criterion,
            error_kind=found.error_kind,
            parameters={**parameters_of(self.estimator), **found.parameters},
            complete=complete,
            stopped=str(stopped),
            data={**self._known, **found.data},
            models=found.models,
        )

    def tell(self, name: str = "", found: Callable[[], Found | None] | None = None) -> bool:
        """Report the path so far to the callbacks; return True if the search is to stop.

        ``name`` describes the step for scikit-learn's callbacks; default: the number of moves.
        ``found``
        returns the current result of one part of a search that has several.
        """
        if not self.watched or (so_far := (found or self.found)()) is None:
            return False
        path = self._path(so_far, ended=False)
        stop = self.estimator.callback is not None and bool(self.estimator.callback(path))
        if listeners(self.estimator):
            state = self._fitted(path, so_far, self._size(path, so_far))
            name = name or f"{len(path.moves)} moves"
            stop |= tell_listeners(self.estimator, self._context, name, state)
        if stop:
            self.stopped = Stop.ASKED
        return stop

    def check(self, name: str = "") -> None:
        """Like ``tell``, but raise an exception to stop the search."""
        if self.tell(name):
            raise _StopRequestedError

    def settle(self) -> Any:
        """Create the path, choose a size, and set all fitted attributes at once."""
        found, estimator = self._all_found(), self.estimator
        path, honest = self._validated(self._path(found, ended=True), found)
        size = self._size(path, found) if honest is None else honest.size
        state = self._fitted(path, found, size)
        if hasattr(estimator, "validation"):
            state.honest_ = honest
        vars(estimator).update(vars(state))
        self._context.call_on_fit_task_end(estimator=estimator, X=self.X, y=self.given.y)
        self.warn(path, found.said)
        return estimator

    def _validated(self, path: SelectionPath, found: Found) -> tuple[SelectionPath, Any]:
        """Return the path with honest errors, if the path is complete and they are requested."""
        if not path.complete or self.stopped or not hasattr(self.estimator, "_validated"):
            return path, None
        rule = getattr(self.estimator, "choose", "min") if found.size is None else found.size
        more = {"accept": self._replaced.update, **self._validation}
        path, honest = self.estimator._validated(path, rule, given=self.given, **more)
        if hasattr(self.X, "record"):  # with the passes of the validation
            path.data.update(self.X.record())
        return path, honest

    def warn(self, path: SelectionPath, said: Sequence[str] = ()) -> None:
        """Warn that Ctrl-C ended the search early."""
        if self.stopped == Stop.INTERRUPTED and not said:
            said = [f"the path ends at size {path.sizes[-1]}: it was interrupted."]
        for text in said:
            warn_user(text)

    def _size(self, path: SelectionPath, found: Found) -> int:
        """Return the size to use; a path that is not complete is not validated."""
        if found.size is not None:
            return found.size
        if found.chosen is not None:
            return found.chosen
        if path.complete:
            return self.estimator._settle_on(path, self.given)
        return path.settle(getattr(self.estimator, "choose", "min"))

    def _fitted(self, path: SelectionPath, found: Found, size: int) -> Any:
        """Return a copy of the estimator with the model of a size."""
        state = object.__new__(type(self.estimator))  # copy.copy takes as long as a small search
        vars(state).update(vars(self.estimator), **{**found.fitted, **self._replaced}, path_=path)
        state._take(size)
        return state
