"""What a path says of itself: the method, its parameters, the seed, the data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from numbers import Integral
from typing import Any

from sklearn.base import BaseEstimator

from sparsepath.data.fingerprint import fingerprint

# Parameters that change no result, and the random state, of which the seed is told.
UNSAID = ("callback", "checkpoint", "memory_budget", "n_jobs", "n_threads", "random_state")


@dataclass(frozen=True, eq=False)
class Given:
    """The arguments of a fit, as they were given."""

    X: Any  # before any check or conversion
    y: Any
    # The others that are not None, by name: sample_weight, groups. With them
    # clone(estimator).fit(X, y, **more) is the same fit.
    more: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, X: Any, y: Any, **more: Any) -> "Given":
        """Those that are None are left out."""
        return cls(X, y, {name: value for name, value in more.items() if value is not None})


class Call(BaseEstimator):
    """A call of a function that is run as a fit is; its arguments stand for parameters."""

    _names: Sequence[str] = ()

    @classmethod
    def of(cls, arguments: Mapping[str, Any], but: Sequence[str]) -> "Call":
        """The arguments of a function, ``locals()`` at its first line, but some."""
        call = cls()
        call._names = [name for name in arguments if name not in but]
        call.__dict__.update({name: arguments[name] for name in call._names})
        return call

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments."""
        return {name: getattr(self, name) for name in self._names}


def parameters_of(estimator: Any) -> dict[str, Any]:
    """The parameters that matter for the result."""
    kind: Any = type(estimator)
    if kind.get_params is BaseEstimator.get_params:
        return {name: getattr(estimator, name) for name in _said(kind)}
    given = estimator.get_params(deep=False)
    return {name: value for name, value in given.items() if name not in UNSAID}


@cache
def _said(kind: Any) -> tuple[str, ...]:
    """The names of those parameters; to look them up takes as long as a small search."""
    return tuple(name for name in kind._get_param_names() if name not in UNSAID)


def data_of(X: Any, given: Given) -> dict[str, Any]:
    """Sizes and fingerprint of checked features, and of target and weights as given."""
    weights = given.more.get("sample_weight")
    name = fingerprint(X, given.y, weights)
    return {"n_samples": X.shape[0], "n_features": X.shape[1], "fingerprint": name}


def seed_of(random_state: Any) -> int:
    """A whole number that stands for a random state: itself, or one that is drawn from it.

    Drawn once and used from then on, so that the number on the path gives the same path again.
    """
    from sklearn.utils import check_random_state

    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
