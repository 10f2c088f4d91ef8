# SPDX-License-Identifier: BSD-3-Clause
"""
=====================================
What does replacing a grid bring?
=====================================

A support vector machine on the breast cancer data, first as one would do it with
``GridSearchCV``: six values for ``C``, six for ``gamma``. Then the same ranges, one
line changed, and little more than half of the candidates.
"""

# %%
# The grid: 36 candidates.
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from accsmbo.search import GridSearchCV

X, y = load_breast_cancer(return_X_y=True)
model = make_pipeline(StandardScaler(), SVC())
options = {
    "scoring": "roc_auc",
    "cv": StratifiedKFold(5, shuffle=True, random_state=0),
}
grid = GridSearchCV(
    model,
    {
        "svc__C": np.geomspace(1e-2, 1e3, 6).tolist(),
        "svc__gamma": np.geomspace(1e-5, 1e0, 6).tolist(),
    },
    **options,
).fit(X, y)

# %%
# The search: ranges in place of points, and a budget. ``GridSearchCV`` above is ours,
# the same as scikit-learn's but for the record that it keeps, so that both can be
# drawn.
from scipy.stats import loguniform

from accsmbo import AccSMBOSearchCV

search = AccSMBOSearchCV(
    model,
    {"svc__C": loguniform(1e-2, 1e3), "svc__gamma": loguniform(1e-5, 1e0)},
    n_iter=20,
    random_state=0,
    **options,
).fit(X, y)

for name, fitted in {"grid": grid, "AccSMBOSearchCV": search}.items():
    n = len(fitted.cv_results_["params"])
    print(f"{name:16} {n:3} candidates, best {fitted.best_score_:.5f}")

# %%
# The best so far, against the number of candidates. Where the grid finds its best is an
# accident of the order in which it is walked.
import matplotlib.pyplot as plt

from accsmbo.plotting import ConvergenceDisplay

ConvergenceDisplay.from_history({"grid": grid, "AccSMBOSearchCV": search})
plt.show()

# %%
# Where the candidates lie. The search spends them where it pays.
_, ax = plt.subplots(layout="constrained")
for name, fitted, marker in [("grid", grid, "+"), ("AccSMBOSearchCV", search, "o")]:
    params = fitted.cv_results_["params"]
    ax.scatter(
        [p["svc__C"] for p in params],
        [p["svc__gamma"] for p in params],
        marker=marker,
        label=name,
    )
ax.set(xscale="log", yscale="log", xlabel="C", ylabel="gamma")
ax.legend()
plt.show()
