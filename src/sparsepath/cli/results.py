"""The files that a selection leaves: the path, its pictures, the fitted model."""

import io
import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sparsepath.cli.select import Outcome
from sparsepath.data.readers import write_table
from sparsepath.errors import FileError
from sparsepath.files import replacing

FILES = {
    "path.json": "the whole path, for SelectionPath.load",
    "path.csv": "the table of sizes, errors and features",
    "path.png": "which features at which size",
    "curve.png": "error against number of features",
    "model.joblib": "the fitted model, for sparsepath predict",
}
MORE_FILES = {
    "index.html": "all of it on one page, to open in a browser",
    "diabetes.csv": "the data",
}
SCHEMA = {"schema": "sparsepath/selection", "schema_version": 1}


def check_folder(folder: Path) -> None:
    """Refuse a folder in which nothing can be written, before any long work."""
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir():
        raise FileError(f"cannot write to {folder}: {there} is a file, not a folder.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise FileError(f"cannot write to {folder}: no permission.")


def write_results(outcome: Outcome, folder: Path) -> dict[str, Path]:
    """Write all of ``FILES``; each takes the place of an older one only when it is whole."""
    path = outcome.path
    # All is made before the first file is touched, so that a failure leaves an old result whole.
    made = {
        "path.png": picture(path.plot_path),
        "curve.png": picture(path.plot_curve),
        "model.joblib": _model(outcome.model),
    }
    frame = path.to_frame("pyarrow")
    path.save(folder / "path.json")
    write_table(
        folder / "path.csv",
        {name: frame.column(name).to_numpy() for name in frame.column_names},
    )
    for name, content in made.items():
        with replacing(folder / name, "wb") as stream:
            stream.write(content)
    return {name: folder / name for name in FILES}


def picture(
    draw: Callable[[], Any], form: str = "png", inches: tuple[float, float] | None = None
) -> bytes:
    """A drawing as the bytes of a PNG or SVG file."""
    figure = draw().figure
    if inches is not None:
        figure.set_size_inches(inches)
    stream = io.BytesIO()
    figure.savefig(stream, format=form, dpi=150)
    return stream.getvalue()


def _model(model: Any) -> bytes:
    import joblib

    stream = io.BytesIO()
    joblib.dump(model, stream, compress=3)
    return stream.getvalue()


def document(outcome: Outcome, files: dict[str, Path]) -> str:
    """All of it as one JSON document."""
    path, size, table = outcome.path, outcome.size, outcome.table
    step = path.step(size)
    m, n = table.X.shape
    return json.dumps(
        {
            **SCHEMA,
            "source": table.source,
            "target": table.target,
            "n_samples": m,
            "n_features": n,
            "task": outcome.task.name,
            "notes": outcome.notes,
            "chosen": {
                "size": size,
                "rule": outcome.rule,
                **({"alpha": outcome.model.alpha_} if hasattr(outcome.model, "alpha_") else {}),
                "features": path.names(size),
                "columns": step.subset,
                "error": step.error if math.isfinite(step.error) else None,
                "error_se": step.error_se if math.isfinite(step.error_se) else None,
            },
            "path": path.to_dict(),
            "files": {name: str(file) for name, file in files.items()},
        },
        allow_nan=False,
    )
