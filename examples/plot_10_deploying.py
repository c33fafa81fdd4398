"""
Deploying: from data to a C program
===================================

A selected model is a few columns and a formula. This example exports it as one C file without dependencies, compiles it, and compares the predictions.
"""

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from sparsepath import SparseRLSRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = SparseRLSRegressor(choose=3).fit(X, y)
source = model.export("c")
print(source)

# %%
# Compile and call it. The function takes a pointer to the struct declared in the source: one number for each of
# the three columns in use, in the order of their names in the file.

compiler = shutil.which("cc")
if compiler is None:
    print("No C compiler was found; the SQL expression instead:")
    print(model.export("sql"))
else:
    folder = Path(tempfile.mkdtemp())
    (folder / "model.c").write_text(source, "utf-8")
    options = ["-O2", "-shared", "-fPIC", "-o", folder / "model.so"]
    subprocess.run([compiler, *options, folder / "model.c", "-lm"], check=True)
    compiled = ctypes.CDLL(str(folder / "model.so")).sparsepath_predict
    compiled.restype = ctypes.c_double
    rows = X[list(model.path_.names(3))].to_numpy()
    there = np.array([compiled((ctypes.c_double * 3)(*row)) for row in rows])
    here = model.predict(X)
    print("Largest difference over 442 rows:", abs(there - here).max())

    fig, ax = plt.subplots(figsize=(4.5, 4.2), layout="constrained")
    ax.plot(here, there, ".", ms=5, alpha=0.5)
    ax.axline((0, 0), slope=1, color="grey", lw=0.8)
    ax.set(
        xlabel="Python", ylabel="C", title="The same predictions", xlim=(50, 320), ylim=(50, 320)
    )

# %%
# Exports for databases, browsers and ONNX runtimes: ``model.export("sql")``, ``"javascript"``, ``"onnx"``.

print(model.export("sql"))
