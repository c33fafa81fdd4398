"""
Costs: the lowest error for a budget
====================================

Age, sex, weight and blood pressure cost little; each of the six serum measurements is a blood test. With ``feature_costs``, features are ranked by error reduction per unit cost.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

from sparsepath import SparseRLSRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
costs = {
    "age": 1,
    "sex": 1,
    "bmi": 2,
    "bp": 3,
    "s1": 20,
    "s2": 25,
    "s3": 20,
    "s4": 10,
    "s5": 30,
    "s6": 8,
}
prices = [costs[name] for name in X.columns]


def bought(path):
    spent = [sum(costs[name] for name in path.names(size)) for size in path.sizes]
    return spent, path.honest_errors, [path.names(size)[-1:] for size in path.sizes]


fig, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
for label, given in (("by error reduction", None), ("by error reduction per cost", prices)):
    path = SparseRLSRegressor(feature_costs=given).fit(X, y).path_
    spent, errors, entered = bought(path)
    ax.step(spent, errors, where="post", label=label)
    below = -10 if given else 3
    for i, name in enumerate(entered[1:], 1):
        if errors[i] < 0.99 * errors[i - 1]:  # the others gain very little
            ax.annotate(
                name[0],
                (spent[i], errors[i]),
                fontsize=8,
                xytext=(2, below),
                textcoords="offset points",
            )
ax.set(
    xlabel="money spent",
    ylabel="honest squared error",
    title="Diabetes: the order of the measurements, with and without their price",
)
ax.legend(frameon=False)

# %%
# ``budget`` limits the total cost:

model = SparseRLSRegressor(feature_costs=prices, budget=20, choose="min").fit(X, y)
print(
    model.get_feature_names_out().tolist(),
    "for",
    sum(costs[name] for name in model.get_feature_names_out()),
)
print(model.honest_.sentence())
