# SPDX-License-Identifier: BSD-3-Clause
"""From scikit-learn's ``scoring`` to an outer loss.

Scorers carry their metric in ``_score_func``, ``_sign`` and ``_kwargs``; these private
attributes have been the same since scikit-learn 0.14 and there is no public way to
ask a scorer for its metric. Only scorers of exactly scikit-learn's class are read.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import metrics
from sklearn.base import RegressorMixin, is_regressor
from sklearn.linear_model import GammaRegressor, PoissonRegressor, TweedieRegressor

from accsmbo._sklearn_private import PassthroughScorer, Scorer
from accsmbo.hypergradients import _outer_loss as outer
from accsmbo.hypergradients._inner_problem import NotDifferentiableError
from accsmbo.hypergradients._outer_loss import OuterLoss

__all__ = ["outer_loss", "squared_hinge_loss"]

METRICS = (
    "log loss, Brier score, mean squared error and its root, R2, Poisson, gamma and "
    "Tweedie deviance, hinge and squared hinge loss"
)


def squared_hinge_loss(
    y_true: Any, pred_decision: Any, *, sample_weight: Any = None
) -> float:
    """Return the mean squared hinge loss of decision values.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels; all classes must occur.
    pred_decision : array-like of shape (n_samples,) or (n_samples, n_classes)
        What ``decision_function`` returned.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights.

    Returns
    -------
    float
        Mean of ``max(0, 1 - margin)^2``, the margin of Crammer and Singer where
        there are more than two classes.

    Examples
    --------
    >>> from sklearn.metrics import make_scorer
    >>> from accsmbo.hypergradients import squared_hinge_loss
    >>> scorer = make_scorer(squared_hinge_loss, greater_is_better=False,
    ...                      response_method="decision_function")
    >>> squared_hinge_loss([0, 1], [0.5, 2.0])
    1.125
    """
    f = np.asarray(pred_decision, float)
    y = np.unique(y_true, return_inverse=True)[1].reshape(-1)
    loss = outer.of_decision("squared hinge loss", outer.squared_hinge)
    return loss("margin", f, y, sample_weight)[0]


def _log_loss(kwargs: dict[str, Any]) -> OuterLoss:
    return OuterLoss(
        "log loss",
        {"logit": outer.log_loss_binary, "softmax": outer.log_loss_multinomial},
    )


def _brier(kwargs: dict[str, Any]) -> OuterLoss:
    scale = kwargs.get("scale_by_half", "auto")
    binary = 2.0 if scale is False else 1.0
    many = 0.5 if scale is True else 1.0
    return OuterLoss(
        "Brier score",
        {
            "logit": outer.scaled(outer.brier_binary, binary),
            "softmax": outer.scaled(outer.brier_multinomial, many),
        },
    )


def _response(name: str, formula: outer.Formula) -> Callable[..., OuterLoss]:
    return lambda kwargs: outer.of_response(name, formula)


# Metric -> (factory, keyword arguments it understands, sign of its scorer)
_TABLE: dict[Any, tuple[Callable[[dict[str, Any]], OuterLoss], set[str], int]] = {
    metrics.log_loss: (_log_loss, set(), -1),
    metrics.brier_score_loss: (_brier, {"pos_label", "scale_by_half"}, -1),
    metrics.mean_squared_error: (
        _response("mean squared error", outer.squared_error),
        set(),
        -1,
    ),
    metrics.root_mean_squared_error: (
        _response("root mean squared error", outer.root_squared_error),
        set(),
        -1,
    ),
    metrics.r2_score: (_response("R2", outer.negated_r2), set(), 1),
    metrics.mean_poisson_deviance: (
        _response("Poisson deviance", outer.tweedie_deviance(1)),
        set(),
        -1,
    ),
    metrics.mean_gamma_deviance: (
        _response("gamma deviance", outer.tweedie_deviance(2)),
        set(),
        -1,
    ),
    metrics.mean_tweedie_deviance: (
        lambda kwargs: outer.of_response(
            "Tweedie deviance", outer.tweedie_deviance(kwargs.get("power", 0))
        ),
        {"power"},
        -1,
    ),
    metrics.hinge_loss: (
        lambda kwargs: outer.of_decision("hinge loss", outer.hinge),
        set(),
        -1,
    ),
    squared_hinge_loss: (
        lambda kwargs: outer.of_decision("squared hinge loss", outer.squared_hinge),
        set(),
        -1,
    ),
}


def outer_loss(scoring: Any, estimator: Any) -> OuterLoss:
    """Return the outer loss of a scoring.

    Parameters
    ----------
    scoring : str, scorer or None
        As in scikit-learn's searches; None means the estimator's own ``score``.
    estimator : estimator
        The last step, asked for its ``score`` where ``scoring`` is None.

    Returns
    -------
    OuterLoss
        The negated score.

    Raises
    ------
    NotDifferentiableError
        If the metric has no gradient.
    """
    if isinstance(scoring, OuterLoss):
        return scoring
    scorer = metrics.get_scorer(scoring) if isinstance(scoring, str) else scoring
    if scorer is None or type(scorer) is PassthroughScorer:
        return _default_loss(estimator)
    known = type(scorer) is Scorer  # a subclass may compute something else
    function = scorer._score_func if known else None
    factory, understood, sign = _TABLE.get(function, (None, set(), 0))
    kwargs = scorer._kwargs if known else {}
    unknown = set(kwargs) - understood
    if factory is None or unknown or np.sign(scorer._sign) != sign:
        detail = f" with {sorted(unknown)}" if factory and unknown else ""
        raise NotDifferentiableError(
            f"The metric {_name(scoring)}{detail} has no gradient. Gradients exist for "
            f"{METRICS}; choose one of them or tune by values."
        )
    return factory(kwargs)


def _default_loss(estimator: Any) -> OuterLoss:
    powers = {PoissonRegressor: 1.0, GammaRegressor: 2.0}
    if isinstance(estimator, TweedieRegressor):
        return outer.of_response("D2", outer.negated_d2(float(estimator.power)))
    if type(estimator) in powers:
        return outer.of_response("D2", outer.negated_d2(powers[type(estimator)]))
    if is_regressor(estimator) and type(estimator).score is RegressorMixin.score:
        return outer.of_response("R2", outer.negated_r2)
    raise NotDifferentiableError(
        f"The default score of {type(estimator).__name__} has no gradient. Set "
        f"scoring; gradients exist for {METRICS}."
    )


def _name(scoring: Any) -> str:
    return repr(scoring)


def check_link(loss: OuterLoss, link: str, estimator: Any) -> None:
    """Raise unless the metric can be computed from the model's outputs."""
    if link not in loss.formulas:
        raise NotDifferentiableError(
            f"The {loss.name} has no gradient for {type(estimator).__name__}: it needs "
            f"outputs with a link among {sorted(loss.formulas)}, the model has "
            f"{link!r}. Choose another scoring."
        )
