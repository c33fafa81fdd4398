"""The arguments of a fit."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False)
class Given:
    """The raw arguments of a fit."""

    X: Any  # before any check or conversion
    y: Any
    # The others that are not None, by name: sample_weight, groups. With them
    # clone(estimator).fit(X, y, **more) is the same fit.
    more: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, X: Any, y: Any, **more: Any) -> "Given":
        """Create it from arguments; None means absent."""
        return cls(X, y, {name: value for name, value in more.items() if value is not None})
