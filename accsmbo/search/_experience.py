# SPDX-License-Identifier: BSD-3-Clause
"""Which shipped density fits an estimator, a metric and a kind of data."""

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.multiclass import type_of_target

from accsmbo.metalearning import MIN_TASKS, EmpiricalDensity, shipped_tasks
from accsmbo.metalearning._empirical_density import LEAST_GAIN
from accsmbo.metalearning._shipped import metric_group

__all__ = ["density_of", "shipped_density"]


def density_of(search, space, objective):
    """Return the density that a search is to use: its own, or what is shipped.

    Parameters
    ----------
    search : AccSMBOSearchCV
        With a ``density``.
    space : Space
        Where.
    objective : CrossValidationObjective
        Gives the data.

    Returns
    -------
    Density or None
        None where there is none to use.
    """
    if not isinstance(search.density, str):
        return search.density
    metric = search.refit if isinstance(search.refit, str) else search.scoring
    if metric is not None and not isinstance(metric, str):
        return None
    return shipped_density(search.estimator, space, metric, objective.X, objective.y)


def shipped_density(estimator, space, metric, X, y):
    """Return the density of the shipped meta-data, or None where there is none to use.

    Parameters
    ----------
    estimator : estimator
        What is tuned; the last step of a pipeline counts.
    space : Space
        Where.
    metric : str or None
        Name of the metric; None: the estimator's own score.
    X : array-like or sparse matrix
        Data; only whether it is sparse matters.
    y : array-like
        Target; its kind matters, and of a regression the standard deviation.

    Returns
    -------
    EmpiricalDensity or None
        None where nothing is shipped, too few tasks lie in the space, or the tasks do
        not predict each other.
    """
    final = _final_step(estimator)
    classifier = is_classifier(final)
    group = metric_group(metric or ("accuracy" if classifier else "r2"))
    if group is None or y is None or not type(final).__module__.startswith("sklearn."):
        return None
    kind = type_of_target(y) if classifier else "regression"
    tasks = shipped_tasks(
        type(final).__name__,
        group=group,
        kind=kind if kind in ("binary", "multiclass", "regression") else None,
        sparse=issparse(X),
        settings=final.get_params(deep=False),
        y_scale=1.0 if classifier else _scale(y),
    )
    if len(tasks) < MIN_TASKS:
        return None
    source = f"shipped meta-data of {type(final).__name__}, metrics like {group}"
    density = EmpiricalDensity().fit_tasks(tasks, space, source=source)
    enough = density.n_tasks_ >= MIN_TASKS and density.score_ > LEAST_GAIN
    return density if enough else None


def _final_step(estimator):
    """Return the last step, of pipelines of other packages too."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def _scale(y):
    """Return the standard deviation of a target, 1 where it has none."""
    scale = float(np.std(np.asarray(y, dtype=float)))
    return scale if np.isfinite(scale) and scale > 0.0 else 1.0
