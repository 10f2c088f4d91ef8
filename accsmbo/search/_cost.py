# SPDX-License-Identifier: BSD-3-Clause
"""What plain evaluations cost at the least: a count from shapes, never a clock.

Seconds of the reference core of ``accsmbo.linear_model._work``. The same data, the same
number, so that what a search does depends on nothing else.
"""

from numbers import Integral

import numpy as np
from sklearn.base import is_classifier
from sklearn.linear_model import Ridge, RidgeClassifier

from accsmbo.hypergradients import (
    GaussianProcessProblem,
    KernelRidgeProblem,
    LinearProblem,
    MultilayerPerceptronProblem,
    SVCProblem,
    SVRProblem,
    find_inner_problem,
)
from accsmbo.hypergradients._fold import last_step
from accsmbo.linear_model._work import (
    ELEMENTS,
    SECONDS_PER_CALL,
    SECONDS_PER_MULTIPLY_ADD,
    SPARSE,
    VECTOR,
)

__all__ = ["n_affordable", "plain_seconds"]

# Gradients may cost this share of the plain evaluation of all candidates.
GRADIENT_SHARE = 0.08
# A proposal of the model of values, by how much one with gradients takes longer, and a
# fit and score whatever the data.
PROPOSAL, WITH_GRADIENTS, CALL = 2.6e-3, 4e-3, 1.5e-3
# Steps of an iterative solver or of a training, calls of NumPy in each, and pairs of
# vectors that L-BFGS keeps.
STEPS, CALLS, MEMORY = 35, 25, 10


def plain_seconds(objective, estimator):
    """Return what the plain evaluation of one candidate costs, its proposal included.

    Parameters
    ----------
    objective : CrossValidationObjective
        Gives data and splits.
    estimator : estimator
        Last step, with a registered inner problem.

    Returns
    -------
    float
        Seconds; transformers before the last step are not counted.
    """
    X = objective.X
    shape = getattr(X, "shape", (len(objective.splits[0][0]), 1))
    n_columns = shape[1] if len(shape) == 2 else 1
    is_sparse = hasattr(X, "nnz")
    stored = X.nnz / max(shape[0], 1) if is_sparse else n_columns
    classes = len(np.unique(np.asarray(objective.y))) if is_classifier(estimator) else 1
    outputs = classes if classes > 2 else 1
    entry = SPARSE if is_sparse else VECTOR
    folds = [
        CALL + _fit_seconds(estimator, len(train), stored, n_columns, outputs, entry)
        for train, _ in objective.splits
    ]
    return PROPOSAL + sum(folds)


def n_affordable(objective, n_trials):
    """Return of how many candidates the gradients cost little beside all the fits.

    Parameters
    ----------
    objective : CrossValidationObjective
        Of an estimator with gradients.
    n_trials : int
        Number of candidates.

    Returns
    -------
    int
        Possibly none.
    """
    transformers, _, final = last_step(objective.estimator)
    plain = plain_seconds(objective, final)
    allowed = n_trials * (GRADIENT_SHARE * plain - WITH_GRADIENTS)
    # Transformers are fitted once more in each fold.
    allowed -= plain * bool(transformers)
    cost = plain * find_inner_problem(final).gradient_cost
    return max(0, int(allowed / cost))


def _fit_seconds(estimator, n, stored, p, outputs, entry):
    problem = find_inner_problem(estimator)
    if issubclass(problem, (SVCProblem, SVRProblem)):
        return SECONDS_PER_MULTIPLY_ADD * VECTOR * n**2 * stored
    if issubclass(problem, (KernelRidgeProblem, GaussianProcessProblem)):
        return SECONDS_PER_MULTIPLY_ADD * (n**3 / 3 + VECTOR * n**2 * stored)
    if isinstance(estimator, (Ridge, RidgeClassifier)) and entry == VECTOR:
        return SECONDS_PER_MULTIPLY_ADD * n * p * min(n, p)
    if issubclass(problem, MultilayerPerceptronProblem):
        sizes = np.atleast_1d(estimator.hidden_layer_sizes)
        outputs = max(int(s) for s in sizes if isinstance(s, (Integral, np.integer)))
    if not issubclass(problem, (LinearProblem, MultilayerPerceptronProblem)):
        return 0.0
    products = 2 * entry * n * stored * outputs
    step = products + ELEMENTS / 4 * n * outputs + 4 * MEMORY * p * outputs
    return STEPS * (SECONDS_PER_MULTIPLY_ADD * step + SECONDS_PER_CALL * CALLS)
