# SPDX-License-Identifier: BSD-3-Clause
"""
==================================
What is a gradient worth?
==================================

The cross-validated log loss of logistic regression can be differentiated by its
penalty. One evaluation then says not only how good a point is but also where to go.
"""

# %%
# Handwritten digits, eights against the rest. The curve to be minimised, and its
# derivative at a few points, by :func:`~accsmbo.hypergradients.hypergradient`.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from accsmbo import hypergradient

X, y = load_digits(return_X_y=True)
y = y == 8
name = "logisticregression__C"
model = make_pipeline(StandardScaler(), LogisticRegression())
options = {
    "scoring": "neg_log_loss",
    "cv": StratifiedKFold(3, shuffle=True, random_state=0),
}


def curve(C):
    """Return the loss and its derivative by log C."""
    score, gradient = hypergradient(
        model, {name: float(C)}, X, y, log_scale=[name], **options
    )
    return -score, -gradient[name]


Cs = np.geomspace(1e-4, 1e4, 25)
losses, slopes = np.array([curve(C) for C in Cs]).T

_, ax = plt.subplots(layout="constrained")
ax.semilogx(Cs, losses)
for C, loss, slope in list(zip(Cs, losses, slopes, strict=True))[2::4]:
    step = np.array([-0.7, 0.7])
    ax.plot(C * np.exp(step), loss + slope * step, color="black", linewidth=2)
ax.set(xlabel="C", ylabel="log loss", ylim=(0, 1.1 * losses.max()))
plt.show()

# %%
# Searches with and without: ``solver="estimator"`` fits every candidate with
# scikit-learn, as other tools do, and sees its score alone; ``solver="gradients"`` also
# reads the gradient off each fitted model. (Left at "auto", the search would need one
# candidate here, see :ref:`one_fit`.)
from scipy.stats import loguniform

from accsmbo import AccSMBOSearchCV
from accsmbo.plotting import ConvergenceDisplay

space = {name: loguniform(1e-4, 1e4)}
runs = {
    label: [
        AccSMBOSearchCV(
            model,
            space,
            n_iter=10,
            density=None,
            solver=solver,
            refit=False,
            random_state=seed,
            **options,
        ).fit(X, y)
        for seed in range(3)
    ]
    for label, solver in {"gradients": "gradients", "values": "estimator"}.items()
}
ConvergenceDisplay.from_history(runs)
plt.show()

# %%
# How close each is to the best found by any, after four and ten candidates.
best = min(search.history_.best_value for found in runs.values() for search in found)
for label, found in runs.items():
    for n in (4, 10):
        excess = np.median([s.history_.values[:n].min() for s in found]) / best - 1
        print(f"{label:9} {n:2} candidates: {100 * excess:.2f} % above the best")
