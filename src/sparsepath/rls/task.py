"""What is asked of a search; the same for every penalty."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.door import named_columns
from sparsepath.data.splitting import Split
from sparsepath.rls.constraints import Constraints
from sparsepath.rls.criteria.losses import Criterion
from sparsepath.rls.criteria.residuals import SQUARED
from sparsepath.rls.splits.asked import label_of, named
from sparsepath.rls.trail import Rule
from sparsepath.rls.update import Costs


@dataclass(frozen=True)
class Task:
    """What is asked of a search; the same for every penalty.

    ``size`` is the one to which the search goes, and ``most`` the largest that a backward path may
    have; ``names`` are for messages.
    """

    search: str = "forward"
    size: int = 1
    most: float = np.inf
    loss: Criterion = SQUARED
    candidates: Sequence[int] = ()
    forced: tuple[int, ...] = ()
    start: tuple[int, ...] = ()
    parents: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    epsilon: float | None = None
    splits: Sequence[Split] | None = None
    pooled: bool = False
    queries: NDArray[np.intp] | None = None
    groups: tuple[tuple[int, ...], ...] = ()
    costs: Costs | None = None
    rules: tuple[Rule, ...] = ()
    form: str = "auto"
    memory: float | None = None
    names: tuple[str, ...] | None = None
    wanted: int = 0  # a size that was asked for: the search goes on to it, whatever the error

    @property
    def backward(self) -> bool:
        return self.search == "backward"

    def named(self, columns: Iterable[int]) -> str:
        """Columns in a message."""
        return named_columns(columns, self.names)

    def name(self) -> str:
        """A short name for what decides the moves: equal moves, equal name."""
        columns = tuple(self.candidates)
        plain = (self.search, self.size, self.loss.key, columns, self.forced, self.epsilon)
        more = (self.pooled, self.groups, self.start, sorted(self.parents.items()))
        digest = hashlib.blake2b(repr((*plain, *more)).encode(), digest_size=12)
        if self.queries is not None:
            digest.update(b"ranking" + self.queries.tobytes())
        if self.splits is not None:
            digest.update(label_of(self.splits).encode())
        for train, test in self.splits or ():
            digest.update(np.asarray(train).tobytes() + b"/" + np.asarray(test).tobytes())
        if self.costs is not None:
            digest.update(self.costs.of.tobytes() + repr(self.costs.budget).encode())
        return digest.hexdigest()

    @property
    def criterion(self) -> str:
        """What the errors are: how samples are left out, and what is counted."""
        how = "leave-pair-out" if self.loss.pairs else "leave-one-out"
        if self.splits is not None:
            how = label_of(self.splits)
        if self.queries is not None and self.splits is not None:
            how = how.replace(" by groups", "")  # the folds of a ranking keep queries whole anyway
            queries = self.queries
            single = all(len(np.unique(queries[test])) == 1 for _, test in self.splits)
            if queries.any() and single and len(self.splits) > 1:
                how = "leave-query-out"
        return named(how, self.loss.label)

    def sets(self, constant: NDArray[np.bool_]) -> Constraints:
        """What the sets on the path must hold to."""
        return Constraints(
            self.candidates,
            constant,
            forced=self.forced,
            groups=self.groups,
            parents=self.parents,
            costs=self.costs,
            most=self.most if self.backward else self.size,
        )
