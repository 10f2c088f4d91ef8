# SPDX-License-Identifier: BSD-3-Clause
"""
===============================
Tuning for the price of one fit
===============================

The penalty of logistic regression on handwritten digits, by a grid of twenty values and
by Newton steps that train and tune at once. The grid pays for a hundred fits; the other
way for a few, and sees the whole range too.
"""

# %%
# Data
# ----
#
# Even digits against odd ones: a model that needs some regularisation, but not much.

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import scale

from accsmbo.linear_model import BilevelLogisticRegressionCV

X, y = load_digits(return_X_y=True)
X, y = scale(X), y % 2
folds = StratifiedKFold(5, shuffle=True, random_state=0)

# %%
# A grid
# ------

grid = np.logspace(-4, 4, 20)
start = time.perf_counter()
by_grid = GridSearchCV(
    LogisticRegression(max_iter=5000), {"C": grid}, cv=folds, scoring="neg_log_loss"
).fit(X, y)
grid_seconds = time.perf_counter() - start

# %%
# Training and tuning at once
# ---------------------------
#
# The constructor takes a range in place of a grid. ``at_bound_`` would say that the
# best value is an end of the range, ``local_maxima_`` that there are several good ones.

start = time.perf_counter()
model = BilevelLogisticRegressionCV((1e-4, 1e4), cv=folds).fit(X, y)
model_seconds = time.perf_counter() - start

print(f"grid:     C = {by_grid.best_params_['C']:.4f}, score {by_grid.best_score_:.5f}")
print(f"at once:  C = {model.C_:.4f}, score {model.best_score_:.5f}")
print(f"the grid took {grid_seconds / model_seconds:.0f} times as long")
print("good values of C:", model.local_maxima_.round(4), "at an end:", model.at_bound_)

# %%
# What the search saw
# -------------------
#
# The line is the validation curve as the search knows it, the dots are the values it
# stood at, the crosses the grid.

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.plot(model.scan_["C"], model.scan_["score"], color="C0", label="scan")
axes.plot(model.Cs_, model.scores_path_.mean(axis=0), "o", color="C1", label="visited")
axes.plot(
    grid, by_grid.cv_results_["mean_test_score"], "x", color="0.4", label="grid of 20"
)
axes.axvline(model.C_, color="C1", lw=0.8)
axes.set(xscale="log", xlabel="C", ylabel="minus the log loss, mean of 5 folds")
axes.set_ylim(1.6 * model.best_score_, 0.9 * model.best_score_)
axes.legend()
plt.show()

# %%
# Inside a search
# ---------------
#
# :class:`~accsmbo.AccSMBOSearchCV` goes the same way by itself where the space is one
# continuous penalty or a few: ``AccSMBOSearchCV(LogisticRegression(), {"C":
# loguniform(1e-4, 1e4)}, scoring="neg_log_loss")``. See :doc:`/user_guide/one_fit` for
# how it works.
