"""
Interacting features
====================

``y = x1 + (x2 > 0.5)(x3 > 0.5)``, and three more features are noise. The best single feature is ``x1``, but the best pair is ``x2`` and ``x3``. A search that adds one feature at a time
cannot find this pair, and a linear model cannot use the interaction.
"""

import matplotlib.pyplot as plt

from sparsepath import ELMFSRegressor, SparseRLSRegressor
from sparsepath.data.synthetic import xor_like

train, test = xor_like(400, random_state=0), xor_like(2000, random_state=1)
linear = SparseRLSRegressor().fit(train.X, train.y)
network = ELMFSRegressor(4, n_restarts=4, random_state=0, validation=None).fit(train.X, train.y)
for exchange in network.path_.entering_together():
    print(
        "At size",
        exchange.size,
        "entered:",
        [f"x{j + 1}" for j in exchange.entered],
        "left:",
        [f"x{j + 1}" for j in exchange.left],
    )

# %%
# In the map of ELM-FS, x1 is replaced by the pair at size 2 and returns at size 3.

figure = network.path_.plot()

# %%
# On new data:

fig, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for label, model in (("greedy RLS, linear", linear), ("ELM-FS", network)):
    sizes = [size for size in model.path_.sizes if size]
    errors = [((model.at_size(size).predict(test.X) - test.y) ** 2).mean() for size in sizes]
    ax.plot(sizes, errors, "o-", label=label)
ax.axhline(0.01, color="grey", ls=":", label="variance of the noise")
ax.set(xlabel="number of features", ylabel="squared error on new data", ylim=(0, None))
ax.legend(frameon=False)
