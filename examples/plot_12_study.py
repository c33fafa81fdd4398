"""
A complete study
================

Thirty measurements of cell nuclei from 569 patients with a breast tumour, malignant or benign. A complete analysis: how many features, the expected error, a test against
chance, the stability of the selection, a second method, and a final test on new patients.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from sparsepath import SparseRLSClassifier, compare, permutation_null, stability

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"})

# %%
# A third of the patients is kept for a single test at the end.

X, X_new, y, y_new = train_test_split(X, y, test_size=1 / 3, random_state=0, stratify=y)
model = SparseRLSClassifier(12, search="floating", loss="zero_one").fit(X, y)
print(model.honest_.sentence())
print(model.get_feature_names_out().tolist())
figure = model.path_.plot()

# %%
# Is there any signal? The search is repeated with permuted labels:

null = permutation_null(SparseRLSClassifier(3), X, y, 39)
print("p =", null.p_value)

# %%
# Would the same features be chosen again? The search is repeated on fifty random halves of the patients:

size = len(model.selected_)
halves = stability(SparseRLSClassifier(size, validation=None), X, y, 50)
often = halves.frequency(size)
names = sorted(often, key=often.get)[-12:]
fig, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
chosen = set(model.get_feature_names_out())
ax.barh(
    names,
    [often[name] for name in names],
    color=["C1" if name in chosen else "C0" for name in names],
)
ax.set(
    xlabel=f"share of the halves that select it among {size}",
    title="orange: chosen above",
    xlim=(0, 1),
)

# %%
# Interchangeable measurements:

for group in halves.stand_ins(size)[:4]:
    print(" or ".join(group))

# %%
# Does another method select the same features?

table = compare(["greedy-rls", "backward-rls"], X, y, validation=5)
print(table.sentence())

# %%
# The test on the patients that were kept back:

wrong = np.mean(model.predict(X_new) != y_new)
print(
    f"Estimated: {model.honest_.error:.3f} (90 % interval {model.honest_.interval[0]:.3f} to {model.honest_.interval[1]:.3f}). Found on {len(y_new)} new patients: {wrong:.3f}."
)
