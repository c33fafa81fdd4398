"""
Gene expression: the error that a search tells, and the true one
================================================================

62 tissue samples, 2000 genes, tumour or not. With so many columns a search finds sets that seem perfect whatever the labels are; here is what they are worth.
"""

import matplotlib.pyplot as plt
import numpy as np

from sparsepath import SparseRLSClassifier, permutation_null
from sparsepath.data.paper_sets import available, load
from sparsepath.data.synthetic import two_normals

if "colon_cancer" in available():
    data = load("colon_cancer")
    X, y = np.asarray(data.X, dtype=float), np.where(data.y < 0, "tumour", "normal")
    print(f"{data.source}: {X.shape[0]} samples, {X.shape[1]} genes.")
else:
    print("The colon data are not here: these are two normal distributions.")
    data = two_normals(62, 2000, 5, random_state=0)
    X, y = np.asarray(data.X), np.where(data.y > 0, "tumour", "normal")

model = SparseRLSClassifier(12).fit(X, y)
path = model.path_
print(model.honest_.sentence())

# %%
# The error that the search minimised falls and falls. On samples left out of the whole procedure one gene, or a few, are as good as any more.

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(path.sizes, path.errors, "o-", ms=3, label="what the search says (leave-one-out)")
ax.plot(path.sizes, path.honest_errors, "s-", ms=3, label="on samples that it never saw")
low, high = path.honest_errors - path.honest_errors_se, path.honest_errors + path.honest_errors_se
ax.fill_between(path.sizes, low, high, color="C1", alpha=0.2)
ax.axvline(len(model.selected_), color="grey", ls=":", label="chosen")
ax.set(xlabel="number of genes", ylabel="squared error of targets -1 and +1", ylim=(0, None))
ax.legend(frameon=False)

# %%
# Is there anything at all? The same search with the labels shuffled, which leaves nothing to be found:

null = permutation_null(SparseRLSClassifier(3), X, y, 19)
print("p-value of the whole path:", null.p_value, "- there is something:", null.anything)
