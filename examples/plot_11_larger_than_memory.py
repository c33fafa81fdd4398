"""
Larger than memory
==================

Parquet files are read in passes: sums of products of the columns are computed once, and folds, penalties and sizes need no further reading. Here the files are small
and the memory limit is smaller; the script for a hundred million rows is the same.
"""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sparsepath
from sparsepath import SparseRLSRegressor

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
for part in range(4):
    X = rng.standard_normal((25_000, 40), dtype=np.float32)
    y = X[:, :6] @ [3, -2, 1.5, 1, 0.5, 0.25] + X[:, 0] * X[:, 1] + rng.standard_normal(25_000)
    columns = {f"sensor{j}": X[:, j] for j in range(40)} | {"y": y}
    pq.write_table(pa.table(columns), folder / f"day{part}.parquet", row_group_size=5_000)
size = sum(file.stat().st_size for file in folder.iterdir())
print(f"{size / 1e6:.0f} MB in four files.")

# %%
# The data are read by ``fit``, only once.

data = sparsepath.open(str(folder / "*.parquet"), target="y", memory=8e6)
model = SparseRLSRegressor(15, cv=10).fit(data)
print("Passes over the data:", model.path_.data["passes"])
print(model.honest_.sentence())
print(list(model.path_.names(len(model.selected_))))
figure = model.path_.plot_curve().figure
figure.set_size_inches(7, 3.8)
