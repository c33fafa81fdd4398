"""
Five lines
==========

442 patients, ten measurements, how far their diabetes had come a year later. Which measurements does it take?
"""

from sklearn.datasets import load_diabetes

from sparsepath import SparseRLSRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = SparseRLSRegressor().fit(X, y)
print(model.honest_.sentence())
figure = model.path_.plot()

# %%
# Above: the honest error, on patients whom neither the search nor the choice of the size had seen, and the error that the search made small. Below: which
# measurements are in the best set of each size. The marked size is the smallest that is not clearly worse than the best.
