"""
Time series: which days predict tomorrow?
=========================================

The daily load of an electricity grid from the thirty days before. The past predicts the future and not the other way round, so the folds are in the order of time.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import TimeSeriesSplit

from sparsepath import SparseRLSRegressor
from sparsepath.data.paper_sets import available, load

lags = 30
if "poland_electricity_lag30" in available():
    data = load("poland_electricity_lag30")
    X, y = data.X[data.split == "train"], data.y[data.split == "train"]
    print(f"{data.source}: {len(y)} days.")
else:
    print("The series of the grid is not here: this one is made up.")
    rng = np.random.default_rng(0)
    days = np.arange(1400)
    seasons = 0.1 * np.sin(2 * np.pi * days / 365) - 0.12 * (days % 7 >= 5)
    series = 1 + seasons + 0.02 * rng.standard_normal(1400)
    X = np.column_stack([series[lags - k : -k] for k in range(1, lags + 1)])
    y = series[lags:]

folds = TimeSeriesSplit(8)
model = SparseRLSRegressor(12, alpha=0.01, search="floating", cv=folds, validation=folds).fit(X, y)
print(model.honest_.sentence())
print("Days before, in order of entry:", [k + 1 for k in model.selected_.tolist()])

# %%
# Which lags at which size: the week before comes first, then yesterday, then the weeks before that and the days around them.

path = model.path_
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", width_ratios=(3, 2))
extent = (-0.5, len(path.sizes) - 0.5, 0.5, lags + 0.5)
left.imshow(path.matrix().T, aspect="auto", cmap="Blues", origin="lower", extent=extent)
left.set(xlabel="number of lags", ylabel="days before", yticks=[1, 7, 14, 21, 28])
right.plot(path.sizes[1:], path.honest_errors[1:], "s-", ms=3, label="later days, never seen")
right.plot(path.sizes[1:], path.errors[1:], "o-", ms=3, label="criterion of the search")
right.set(xlabel="number of lags", ylabel="squared error")
right.legend(frameon=False)
