# SPDX-License-Identifier: BSD-3-Clause
"""
========================================
Tuning twenty penalties with gradients
========================================

Features often come in families: word counts beside prices, lags of several series,
sensors of several kinds. One ridge penalty for all of them is a compromise, one for
each family is a search in as many dimensions. Grids and random search are lost there.
The gradient of the validation loss by all penalties costs one linear solve, and a
descent along it needs some twenty evaluations.
"""

# %%
# Twenty families of five features. Some matter a lot, most hardly, and nobody has told
# the model which.
import numpy as np

rng = np.random.default_rng(0)
n_groups, size = 20, 5
groups = np.repeat(np.arange(n_groups), size)
importance = rng.permutation(np.geomspace(3, 0.01, n_groups))[groups]
X = rng.standard_normal((150, n_groups * size))
y = X @ (importance * rng.standard_normal(n_groups * size))
y += 3 * rng.standard_normal(len(y))

# %%
# :class:`~accsmbo.linear_model.GroupRidge` has a penalty for each group, and each is a
# parameter of its own: ``alpha__0`` to ``alpha__19``.
from scipy.stats import loguniform
from sklearn.model_selection import KFold

from accsmbo.linear_model import GroupRidge

model = GroupRidge(groups=groups)
names = [f"alpha__{k}" for k in range(n_groups)]
low, high = 1e-3, 1e5
space = {name: loguniform(low, high) for name in names}
options = {
    "scoring": "neg_mean_squared_error",
    "cv": KFold(3, shuffle=True, random_state=0),
}

# %%
# The search: one descent from the middle of the space, which ends by itself.
from accsmbo.search import HOAGSearchCV

search = HOAGSearchCV(model, space, n_iter=40, **options).fit(X, y)
hoag = np.array([evaluation.value for evaluation in search.history_.evaluations])
print(f"{len(hoag)} evaluations, best loss {hoag.min():.3f}")

# %%
# How good is that? :func:`~accsmbo.hypergradients.hypergradient` gives the score and
# its derivatives; with it SciPy's L-BFGS-B descends from ten starts, with up to a
# hundred evaluations each. The best of them stands for the optimum.
from scipy.optimize import minimize

from accsmbo.hypergradients import hypergradient

span = np.log(high / low)


def loss_and_gradient(u):
    """Return the loss and its gradient at a point of the unit cube."""
    alphas = low * np.exp(span * u)
    params = dict(zip(names, alphas.tolist(), strict=True))
    score, gradient = hypergradient(model, params, X, y, log_scale=names, **options)
    return -score, -span * np.array([gradient[name] for name in names])


starts = [np.full(n_groups, 0.5), *rng.random((9, n_groups))]
runs = [
    minimize(
        loss_and_gradient,
        u,
        jac=True,
        bounds=[(0, 1)] * n_groups,
        options={"maxfun": 100},
    )
    for u in starts
]
best = min(run.fun for run in runs)
evaluations = sum(run.nfev for run in runs)
print(f"L-BFGS-B: best loss {best:.3f} after {evaluations} evaluations in all")

# %%
# Random search with a budget of 1,000, and the best single penalty.
random = np.array([loss_and_gradient(u)[0] for u in rng.random((1000, n_groups))])
single = [loss_and_gradient(np.full(n_groups, u))[0] for u in np.linspace(0, 1, 33)]

for name, losses in [
    (f"gradients, {len(hoag)} evaluations", hoag),
    ("random search, 1000 evaluations", random),
    ("one penalty for all, grid of 33", single),
]:
    print(f"{name}: {100 * (np.min(losses) / best - 1):.1f} % above the best")

# %%
# The dashed line is one per cent above the best of the ten L-BFGS-B runs.
import matplotlib.pyplot as plt

fig, ax = plt.subplots()
ax.plot(
    np.arange(1, len(hoag) + 1), np.minimum.accumulate(hoag), "o-", label="HOAGSearchCV"
)
ax.plot(np.arange(1, 1001), np.minimum.accumulate(random), label="random search")
ax.axhline(min(single), color="grey", linestyle=":", label="best single penalty")
ax.axhline(1.01 * best, color="black", linestyle="--", linewidth=1)
ax.set(xscale="log", yscale="log", xlabel="evaluations", ylabel="best loss so far")
ax.legend()

# %%
# The penalties that were chosen against the importance of the features, which the
# search did not know: unimportant groups are switched off.
fig, ax = plt.subplots()
chosen = [search.best_params_[name] for name in names]
ax.loglog(importance[::size], chosen, "o")
ax.set(xlabel="standard deviation of the group's true coefficients", ylabel="penalty")
plt.show()
