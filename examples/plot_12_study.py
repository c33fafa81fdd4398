"""
A whole study
=============

Breast cancer, 569 patients, thirty measurements of cell nuclei, malignant or benign. From the question to the answer, with all that a reader will ask: how many, at what
error, is it chance, would the same be chosen again, does another method say the same, and what does the model look like.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from sparsepath import SparseRLSClassifier, compare, permutation_null, stability

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"})

# %%
# A third of the patients is put aside, to be looked at once, at the end.

X, X_new, y, y_new = train_test_split(X, y, test_size=1 / 3, random_state=0, stratify=y)
model = SparseRLSClassifier(12, search="floating", loss="zero_one").fit(X, y)
print(model.honest_.sentence())
print(model.get_feature_names_out().tolist())
figure = model.path_.plot()

# %%
# Is it chance? The labels shuffled, the search repeated:

null = permutation_null(SparseRLSClassifier(3), X, y, 39)
print("p =", null.p_value)

# %%
# Would the same be chosen again? On fifty halves of the patients:

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
    xlabel=f"part of the halves in which it is among the {size}",
    title="orange: chosen above",
    xlim=(0, 1),
)

# %%
# Measurements that stand in for each other, so that "either of these" is the answer:

for group in halves.stand_ins(size)[:4]:
    print(" or ".join(group))

# %%
# Do others say the same?

table = compare(["greedy-rls", "backward-rls"], X, y, validation=5)
print(table.sentence())

# %%
# And the patients that were put aside:

wrong = np.mean(model.predict(X_new) != y_new)
print(
    f"Estimated: {model.honest_.error:.3f} (90 % interval {model.honest_.interval[0]:.3f} to {model.honest_.interval[1]:.3f}). Found on {len(y_new)} new patients: {wrong:.3f}."
)
