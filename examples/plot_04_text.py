"""
Text: which words distinguish two topics?
=========================================

The texts are the first paragraphs of the documentation of ``scipy.stats`` and ``scipy.signal``, which is installed on every machine. The word frequencies are a sparse matrix, and it stays sparse.
"""

import inspect

import matplotlib.pyplot as plt
import numpy as np
import scipy.signal
import scipy.stats
from sklearn.feature_extraction.text import TfidfVectorizer

from sparsepath import SparseRLSClassifier


def texts(module):
    for name in sorted(module.__all__):
        doc = inspect.getdoc(getattr(module, name, None)) or ""
        if len(doc) > 200:
            yield doc.split("Examples\n")[0][:1500]


stats, signal = list(texts(scipy.stats)), list(texts(scipy.signal))
words = TfidfVectorizer(token_pattern=r"[a-z]{3,}", min_df=3, sublinear_tf=True)
X = words.fit_transform(stats + signal)
y = np.array(["stats"] * len(stats) + ["signal"] * len(signal))
print(
    f"{X.shape[0]} texts, {X.shape[1]} words, {X.nnz / np.prod(X.shape):.1%} of the entries are nonzero."
)

model = SparseRLSClassifier(25, cv=5, alpha=0.1, standardize=False).fit(X, y)
names = words.get_feature_names_out()
print(model.honest_.sentence())
print("Error rate on held-out texts:", round(model.honest_.figures["error_rate"], 3))

# %%
# The selected words and their weights.

weights = model.coef_.ravel()[model.selected_]
order = np.argsort(weights)
fig, ax = plt.subplots(figsize=(6.5, 5.5), layout="constrained")
ax.barh(
    names[model.selected_][order], weights[order], color=np.where(weights[order] > 0, "C1", "C0")
)
ax.axvline(0, color="black", lw=0.8)
ax.set(
    xlabel=f"{model.classes_[0]}  <   weight   >  {model.classes_[1]}",
    title=f"{len(order)} of {X.shape[1]} words",
)
