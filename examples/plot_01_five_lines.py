"""
Five lines
==========

Ten measurements of 442 diabetes patients, and the progression of the disease after one year. Which measurements predict it?
"""

from sklearn.datasets import load_diabetes

from sparsepath import SparseRLSRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = SparseRLSRegressor().fit(X, y)
print(model.honest_.sentence())
figure = model.path_.plot()

# %%
# Top: the honest error, measured on patients that were not used by the search or the choice of the size, and the error that the search minimised. Bottom: the
# measurements in the best subset of each size. The marked size is the smallest within one standard error of the best.
