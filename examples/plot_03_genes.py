"""
Gene expression: the error of the search and the true error
===========================================================

62 samples, 2000 genes, two classes: simulated data of the size of a small microarray study, with five relevant genes. With so many columns a search finds subsets that look perfect whatever the
labels are. Because the data are simulated, the true error can be measured on new samples.
"""

import matplotlib.pyplot as plt
import numpy as np

from sparsepath import SparseRLSClassifier, permutation_null
from sparsepath.data.synthetic import two_normals

data = two_normals(62 + 5000, 2000, 5, mean=0.7, random_state=0)
labels = np.where(data.y > 0, "tumour", "normal")
X, y, X_new, y_new = data.X[:62], labels[:62], data.X[62:], data.y[62:]

model = SparseRLSClassifier(12).fit(X, y)
path = model.path_
print(model.honest_.sentence())
print("Selected genes:", sorted(model.selected_.tolist()), "- relevant are 0 to 4.")

# %%
# The error that the search minimised keeps falling. The honest error, and the true error on 5000 new samples, have their minimum at a few genes. The default rule takes the smallest size within
# one standard error of the minimum.

sign = 1 if model.classes_[1] == "tumour" else -1
true = [np.mean((sign * y_new - path.model(k).predict(X_new).ravel()) ** 2) for k in path.sizes]
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(path.sizes, path.errors, "o--", ms=3, label="criterion of the search (leave-one-out)")
ax.plot(path.sizes, path.honest_errors, "s-", ms=3, label="honest error (nested cross-validation)")
low, high = path.honest_errors - path.honest_errors_se, path.honest_errors + path.honest_errors_se
ax.fill_between(path.sizes, low, high, color="C1", alpha=0.2)
ax.plot(path.sizes, true, "k.", label="true error, 5000 new samples")
ax.axvline(len(model.selected_), color="grey", ls=":", label="chosen size")
ax.set(xlabel="number of genes", ylabel="squared error of targets -1 and +1", ylim=(0, None))
ax.legend(frameon=False)

# %%
# Is there any signal? The same search on permuted labels, in which there is nothing to find:

null = permutation_null(SparseRLSClassifier(3), X, y, 19)
print("p-value:", null.p_value, "- signal:", null.anything)
