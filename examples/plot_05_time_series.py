"""
Time series: which days predict tomorrow?
=========================================

A simulated daily load of an electricity grid, predicted from the thirty previous days. Only the past may be used to predict the future, so the folds are in time order.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import TimeSeriesSplit

from sparsepath import SparseRLSRegressor

lags = 30
rng = np.random.default_rng(0)
days = np.arange(1400)
weather = np.zeros(1400)
for day in days[1:]:
    weather[day] = 0.8 * weather[day - 1] + 0.02 * rng.standard_normal()
seasons = 0.1 * np.sin(2 * np.pi * days / 365) - 0.12 * (days % 7 >= 5)
series = 1 + seasons + weather + 0.01 * rng.standard_normal(1400)
X = np.column_stack([series[lags - k : -k] for k in range(1, lags + 1)])
y = series[lags:]

folds = TimeSeriesSplit(8)
model = SparseRLSRegressor(12, alpha=0.01, search="floating", cv=folds, validation=folds).fit(X, y)
print(model.honest_.sentence())
print("Days before, in order of entry:", [k + 1 for k in model.selected_.tolist()])

# %%
# The lags selected at each size, and the errors. Lags of whole weeks represent the weekly pattern, yesterday's load the weather.

path = model.path_
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", width_ratios=(3, 2))
extent = (-0.5, len(path.sizes) - 0.5, 0.5, lags + 0.5)
left.imshow(path.matrix().T, aspect="auto", cmap="Blues", origin="lower", extent=extent)
left.set(xlabel="number of lags", ylabel="days before", yticks=[1, 7, 14, 21, 28])
right.plot(path.sizes[1:], path.honest_errors[1:], "s-", ms=3, label="honest error (later days)")
right.plot(path.sizes[1:], path.errors[1:], "o-", ms=3, label="criterion of the search")
right.set(xlabel="number of lags", ylabel="squared error")
right.legend(frameon=False)
