"""
A table with text and missing values
====================================

The diabetes data as a clinic might store them: sex as text, age in bands, and one in twenty cells empty. Each text column becomes indicator columns, which are selected
together or not at all; missing values are replaced by medians.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from sparsepath import SparseRLSRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
rng = np.random.default_rng(0)
table = X.mask(rng.random(X.shape) < 0.05)
table["sex"] = X["sex"].map({1: "female", 2: "male"})
table["age"] = pd.cut(X["age"], [0, 35, 45, 55, 65, 100]).astype(str)
print(table.head(3).to_string())

# %%
# The table as numbers, and for each numeric column the table column that it comes from.

words = ["sex", "age"]
numbers = [name for name in table.columns if name not in words]
prepare = make_column_transformer(
    (OneHotEncoder(drop="first", sparse_output=False), words),
    (SimpleImputer(strategy="median"), numbers),
    verbose_feature_names_out=False,
).set_output(transform="pandas")
made = prepare.fit_transform(table)
of = [name.split("_")[0] for name in made.columns]
model = SparseRLSRegressor(feature_groups=of).fit(made, y)
print(model.honest_.sentence())
print(model.get_feature_names_out().tolist())
figure = model.path_.plot()

# %%
# The effect of the missing values: the same search on the complete table.

fig, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
full = SparseRLSRegressor().fit(X, y).path_
ax.plot(full.sizes, full.honest_errors, "o-", ms=3, label="complete, age and sex as numbers")
ax.plot(
    model.path_.sizes,
    model.path_.honest_errors,
    "s-",
    ms=3,
    label="5 % missing, age and sex as text",
)
ax.set(xlabel="number of columns", ylabel="honest squared error")
ax.legend(frameon=False)
