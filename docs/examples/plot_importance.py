# SPDX-License-Identifier: BSD-3-Clause
"""
===================================
Which hyperparameter matters?
===================================

Before a second, finer search it is worth knowing what to leave alone. A model of the
scores says how much of their variance each hyperparameter explains.
"""

# %%
# Gradient boosting on the diabetes data, five hyperparameters.
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor

from accsmbo import Integer, Real, SMBOSearchCV

X, y = load_diabetes(return_X_y=True)
space = {
    "learning_rate": Real(1e-3, 1.0, log=True),
    "max_leaf_nodes": Integer(3, 31),
    "min_samples_leaf": Integer(5, 60),
    "l2_regularization": Real(1e-3, 1e2, log=True),
    "max_features": Real(0.3, 1.0),
}
search = SMBOSearchCV(
    HistGradientBoostingRegressor(max_iter=30, random_state=0),
    space,
    n_iter=30,
    cv=3,
    scoring="neg_root_mean_squared_error",
    random_state=0,
).fit(X, y)
print(search.best_params_)

# %%
# Shares of the variance over the whole space, as the model sees it: alone (first order)
# and with all that a parameter takes part in.
import matplotlib.pyplot as plt

from accsmbo.plotting import ParallelCoordinatesDisplay, ParameterImportanceDisplay

ParameterImportanceDisplay.from_history(search)
plt.show()

# %%
# All candidates at once: one line each, through its hyperparameters to its score.
ParallelCoordinatesDisplay.from_history(search)
plt.show()
