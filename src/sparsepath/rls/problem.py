"""The data and parameters of a search, and what it found."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparsepath.base import Found
from sparsepath.path.selection_path import SelectionPath
from sparsepath.rls.design import Design
from sparsepath.rls.driver import run
from sparsepath.rls.engines import make_design, make_sums
from sparsepath.rls.folds.moments import SplitSums
from sparsepath.rls.history import SearchTrail
from sparsepath.rls.parameters import Parameters, SearchSpec, check_squares, warn_still
from sparsepath.system.arrays import Floats
from sparsepath.system.threads import Threads

ENDS = {
    "no candidate left": "every remaining feature is constant, collinear with the selected ones, "
    "or would fit one sample exactly whatever its target",
    "no group fits": "no remaining group of columns fits into max_features",
    "held back": "every remaining feature requires a parent, or is in a group with a column, that "
    "cannot be selected",
    "residuals vanished": "the selected features already fit the target exactly",
    "target vanished": "the target varies so little that its squares are zero; give it in a "
    "smaller unit",
    "nothing to drop": "no feature can be dropped",
    "interrupted": "it was interrupted",
}


@dataclass(frozen=True, eq=False)
class RLSProblem:
    """Prepared data and search parameters, without a penalty."""

    design: Design
    Y: Floats
    spec: SearchSpec
    sums: SplitSums | None = None

    def search(
        self,
        alpha: float,
        trail: SearchTrail,
        watch: Callable[[SearchTrail], object] | None,
        checkpoint: str | Path | None,
    ) -> None:
        """Run the search and record it on the trail; see ``driver.run``."""
        given = self.design, self.Y, alpha, self.spec
        run(*given, sums=self.sums, trail=trail, watch=watch, checkpoint=checkpoint)

    def found(self, trail: SearchTrail, alpha: float) -> Found | None:
        """Return the result of a search; without a valid subset, the last one."""
        steps = list(trail.steps.values())
        if not steps and trail.passed is not None:
            steps = [trail.passed]
        if not steps:
            return None
        return Found(
            steps,
            trail.moves,
            trail.start,
            self.spec.criterion,
            fitted={"alpha_": alpha, "refit_alpha_": alpha, "_paths": {}},
            parameters={"alpha": alpha},
            stopped=trail.stopped,
            data={**trail.record(), **self.design.record()},
        )

    def data(self, y: Any) -> dict[str, Any]:
        """Return the data record of the path, with targets y."""
        m, n = self.design.n_samples, self.design.n_features
        return {"n_samples": m, "n_features": n, "fingerprint": self.design.name(y)}


def design_for(parameters: Parameters, X: Any, weights: Floats, threads: Threads) -> Design:
    """Return prepared data; columns whose squares overflow raise an error."""
    design = make_design(
        X,
        weights,
        threads,
        fit_intercept=parameters.of.fit_intercept,
        standardize=parameters.of.standardize,
        memory=parameters.of.memory_budget,
    )
    check_squares(design, parameters.names)
    return design


def sums_for(
    design: Design, Y: Floats, spec: SearchSpec, alphas: Sequence[float]
) -> SplitSums | None:
    """Return the sums for the splits; warn about columns that are constant in a training fold."""
    sums = make_sums(design, Y, spec)
    warn_still(spec, sums, alphas)
    return sums


def endings(path: SelectionPath, trail: SearchTrail, spec: SearchSpec) -> list[str]:
    """Warn if a path ended early."""
    reason = ENDS.get(path.stopped)
    if trail.passed is not None:
        reason = f"{reason or 'it was stopped'} before it reached max_features and the budget"
    if reason is None:
        return []
    end = path.sizes[0 if spec.backward else -1]
    return [f"the path ends at size {end}: {reason}."]
