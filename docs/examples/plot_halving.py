# SPDX-License-Identifier: BSD-3-Clause
"""
==================================
A forest costs what it has trees
==================================

Most candidates of a search can be told from good ones by a few trees. Successive
halving grows a few for all of them, and more for the best: to the forests that are
there, on whatever worker has time.
"""

# %%
# Handwritten digits, and the two ways: every candidate with 81 trees, or candidates
# that start with 3 of them. Both propose at random, from the same seed. The metric is
# the accuracy: the log loss of a few trees would prefer small ones, whatever is best
# with many. Where that is not known beforehand, :class:`~accsmbo.fidelity.Hyperband`
# also starts some candidates with more.
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import uniform
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from accsmbo.fidelity import SuccessiveHalving
from accsmbo.search import RandomizedSearchCV

X, y = load_digits(return_X_y=True)
forest = RandomForestClassifier(81, random_state=0)
space = {
    "max_features": uniform(0.02, 0.6),
    "min_samples_leaf": range(1, 20),
    "max_depth": range(2, 16),
}
options = {"cv": 2, "random_state": 0, "refit": False}
plain = RandomizedSearchCV(forest, space, n_iter=6, **options).fit(X, y)
halving = RandomizedSearchCV(
    forest,
    space,
    n_iter=27,
    selection=SuccessiveHalving("n_estimators", min_resources=3),
    **options,
).fit(X, y)

# %%
# The same candidates appear once for each amount they got. A forest that goes on is the
# forest of a fit from nothing, so that only the trees it has at last were grown.
results = halving.cv_results_
points = [tuple(t.unit) for t in halving.history_.trials]
furthest = dict(zip(points, results["n_resources"], strict=True))
n_trees = sum(furthest.values())
for label, search, grown in (("plain", plain, 6 * 81), ("halving", halving, n_trees)):
    print(f"{label:8}{grown:4} trees a fold, accuracy {search.best_score_:.3f}")

# %%
# How the scores of the candidates move with their trees:
_, ax = plt.subplots(layout="constrained")
for point in furthest:
    mine = [i for i, p in enumerate(points) if p == point]
    ax.plot(
        results["n_resources"][mine],
        results["mean_test_score"][mine],
        marker="o",
        color="tab:blue" if len(mine) > 3 else "0.7",
    )
ax.axhline(plain.best_score_, color="tab:orange", label="6 candidates, 81 trees each")
ax.set(xscale="log", xlabel="trees", ylabel="accuracy")
ax.set_xticks(halving.n_resources_, halving.n_resources_)
ax.minorticks_off()
ax.legend(loc="lower right")
plt.show()

# %%
# How many candidates there were with each amount:
dict(zip(halving.n_resources_, np.array(halving.n_candidates_).tolist(), strict=True))
