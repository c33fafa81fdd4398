"""Estimate the run time of a search of data that are read in passes.

The speed of reading and of products is measured on the first rows; the search itself is never run.
"""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from sparsepath.assessment.planning import duration
from sparsepath.data.sources import Source, described, in_bytes


def plan_in_passes(
    source: Source, steps: int, folds: int | None, validation: int, memory: float | None
) -> tuple[int, float, list[str]]:
    """Estimate the number of searches, their seconds, and say it in sentences.

    Parameters
    ----------
    source : Source
        Data that are read in passes.
    steps : int
        Largest size on the path.
    folds : int or None
        Folds of the search's own criterion; None: leave-one-out.
    validation : int
        Outer folds of the honest error.
    memory : float or None
        Bytes that may be used.
    """
    m, n = source.shape
    steps = min(steps, n)
    part = source.parts[0]
    began = time.perf_counter()
    numbers = None
    if source.text and source.names is not None:
        numbers = np.flatnonzero(~np.isin(source.names, source.text))
    rows = sum(slab.block.shape[0] for slab in _some(part.read(numbers)))
    reading = (time.perf_counter() - began) * m / max(1, rows)
    V = np.random.default_rng(0).standard_normal((4096, min(n, 512)))
    began = time.perf_counter()
    V.T @ V
    products = (time.perf_counter() - began) * m / 4096 * (n / V.shape[1]) ** 2
    cells = folds or (validation if validation else 1)
    kept = 8 * n * n * (3 * cells + 4)
    parts = f"{len(source.parts)} part{'s' * (len(source.parts) != 1)}"
    lines = [f"{source.where}: {described(source)}, in {parts}."]
    searches, seconds = 1, reading + products
    if folds:
        lines.append(
            f"{folds}-fold criterion: 1 pass, whatever the search, the penalties and the honest "
            f"error; about {duration(seconds)}."
        )
    else:
        columns = min(1.0, (steps / 2 + 6) / n)
        most = steps * columns
        searches = 1 + validation
        seconds += 3 * searches * reading * most
        lines.append(
            f"Leave-one-out, {steps} steps: 1 pass over all columns, then at most about "
            f"{steps} of the columns in use, {most:.1f} passes in all; far fewer where there are "
            f"many rows. About {duration(reading + products + 3 * reading * most)} at most."
        )
        if validation:
            lines.append(
                f"The honest error repeats the steps {validation} times: "
                f"{duration(seconds)} at most in all; "
                f"--cv {validation} needs one pass for everything, --no-validation none of these."
            )
    lines.append(
        f"Memory: {in_bytes(kept)} for products of columns, and a few slabs of "
        f"{in_bytes(8 * 8 * getattr(part, 'height', 20_000) * n)}."
    )
    if memory is not None and kept > memory / 4:
        lines.append(
            f"Products of all columns do not fit into a quarter of {in_bytes(memory)}: those of a "
            "few columns are computed at a time, by more passes."
        )
    return searches, seconds, lines


def _some(slabs: Iterator[Any]) -> Iterator[Any]:
    began = time.perf_counter()
    for slab in slabs:
        yield slab
        if time.perf_counter() - began > 1.0:
            return
