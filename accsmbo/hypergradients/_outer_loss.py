# SPDX-License-Identifier: BSD-3-Clause
"""Outer losses: negated scores of the validation rows and their derivative.

f       (m,), (m, k) raw outputs of the model
y       (m,), (m, k) targets; class indices for classifiers
s       (m,)         weights of the validation rows, summing to one
mu      like f       response: f itself, or exp(f) for a log link
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logsumexp, softmax

from accsmbo.hypergradients._inner_problem import Array

__all__ = ["OuterLoss"]

CLIP = -float(np.log(np.finfo(float).eps))  # scikit-learn clips probabilities at eps

Formula = Callable[[Array, Array, Array], tuple[float, Array]]


@dataclass(frozen=True)
class OuterLoss:
    """A validation loss that is differentiable by the raw outputs.

    Scikit-learn's metrics are found by their scorers (:func:`outer_loss`). For one that
    is not among them, write the loss and its slope and pass this as ``scoring``. A link
    says what the raw outputs of a model are: predictions ("identity"), their logarithms
    ("exp"), log odds ("logit"), logarithms of unnormalised probabilities ("softmax") or
    decision values ("margin"). Models whose link is not among the formulas are refused.

    Parameters
    ----------
    name : str
        Name of the metric, for messages.
    formulas : dict
        For each link it accepts, the function ``(f, y, s) -> (loss, dloss / df)``; the
        weights s of the rows sum to one.

    See Also
    --------
    outer_loss : That of a scikit-learn scorer.
    hypergradient : Takes it as ``scoring``.

    Examples
    --------
    A smooth form of the absolute error:

    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from accsmbo.hypergradients import OuterLoss, hypergradient
    >>> def absolute(f, y, s):
    ...     r = f - y
    ...     size = np.sqrt(r**2 + 1)
    ...     return float(s @ size), s * r / size
    >>> loss = OuterLoss("smooth absolute error", {"identity": absolute})
    >>> X, y = load_diabetes(return_X_y=True)
    >>> score, gradient = hypergradient(
    ...     Ridge(), {"alpha": 1.0}, X, y, cv=5, scoring=loss)
    >>> bool(gradient["alpha"] < 0)  # less regularisation
    True
    """

    name: str
    formulas: dict[str, Formula]

    def __call__(
        self, link: str, f: Array, y: Array, weight: Array | None = None
    ) -> tuple[float, Array]:
        """Return the loss and its derivative by the raw outputs.

        Parameters
        ----------
        link : str
            Link of the inner problem; must be a key of ``formulas``.
        f : ndarray of shape (m,) or (m, k)
            Raw outputs.
        y : ndarray of shape (m,) or (m, k)
            Targets, class indices for classifiers.
        weight : ndarray of shape (m,), default=None
            Weights of the rows.

        Returns
        -------
        loss : float
            The negated score.
        cotangent : ndarray of the shape of ``f``
            Its derivative.
        """
        weight = np.ones(len(f)) if weight is None else np.asarray(weight, float)
        return self.formulas[link](np.asarray(f, np.float64), y, weight / weight.sum())


def _column(s: Array, f: Array) -> Array:
    return s if f.ndim == 1 else s[:, None]


def _exp_link(of_mean: Formula) -> Formula:
    def formula(f: Array, y: Array, s: Array) -> tuple[float, Array]:
        mu = np.exp(f)
        value, slope = of_mean(mu, y, s)
        return value, slope * mu

    return formula


def log_loss_binary(f: Array, y: Array, s: Array) -> tuple[float, Array]:
    """Return the log loss of ``P(1) = 1 / (1 + exp(-f))``."""
    sign = np.where(y == 1, 1.0, -1.0)
    z = sign * f
    each = np.log1p(np.exp(-np.abs(z))) - np.minimum(z, 0)
    slope = np.where(each < CLIP, -sign * expit(-z), 0.0)
    return float(s @ np.minimum(each, CLIP)), s * slope


def log_loss_multinomial(f: Array, y: Array, s: Array) -> tuple[float, Array]:
    """Return the log loss of softmax probabilities."""
    rows = np.arange(len(f))
    each = logsumexp(f, axis=1) - f[rows, y]
    slope = softmax(f, axis=1)
    slope[rows, y] -= 1
    slope *= (s * (each < CLIP))[:, None]
    return float(s @ np.minimum(each, CLIP)), slope


def brier_binary(f: Array, y: Array, s: Array) -> tuple[float, Array]:
    """Return ``(P(1) - [y = 1])^2``."""
    p = expit(f)
    gap = p - (y == 1)
    return float(s @ gap**2), 2 * s * gap * p * (1 - p)


def brier_multinomial(f: Array, y: Array, s: Array) -> tuple[float, Array]:
    """Return ``sum_k (P(k) - [y = k])^2``."""
    p = softmax(f, axis=1)
    gap = p - np.eye(f.shape[1])[y]
    inner = 2 * gap * p
    slope = inner - p * inner.sum(axis=1, keepdims=True)
    return float(s @ (gap**2).sum(axis=1)), s[:, None] * slope


def scaled(formula: Formula, factor: float) -> Formula:
    """Return a formula times a factor."""

    def result(f: Array, y: Array, s: Array) -> tuple[float, Array]:
        value, slope = formula(f, y, s)
        return factor * value, factor * slope

    return result


def _margin(f: Array, y: Array) -> tuple[Array, Array, Array]:
    """Return the margins and, per row, the true and the best other column."""
    rows = np.arange(len(f))
    others = f.copy()
    others[rows, y] = -np.inf
    rival = others.argmax(axis=1)
    return f[rows, y] - f[rows, rival], rows, rival


def hinge(f: Array, y: Array, s: Array, *, power: int = 1) -> tuple[float, Array]:
    """Return ``max(0, 1 - margin)`` to a power; Crammer-Singer for many classes."""
    if f.ndim == 1:
        sign = np.where(y == 1, 1.0, -1.0)
        loss = np.maximum(1 - sign * f, 0)
        slope = -sign * ((loss > 0) if power == 1 else 2 * loss)
        return float(s @ loss**power), s * slope
    margin, rows, rival = _margin(f, y)
    loss = np.maximum(1 - margin, 0)
    outer = s * ((loss > 0) if power == 1 else 2 * loss)
    slope = np.zeros_like(f)
    slope[rows, y], slope[rows, rival] = -outer, outer
    return float(s @ loss**power), slope


def squared_hinge(f: Array, y: Array, s: Array) -> tuple[float, Array]:
    """Return ``max(0, 1 - margin)^2``."""
    return hinge(f, y, s, power=2)


def squared_error(mu: Array, y: Array, s: Array) -> tuple[float, Array]:
    """Return the mean squared error, averaged over targets."""
    weight = _column(s, mu) / (1 if mu.ndim == 1 else mu.shape[1])
    return float(np.sum(weight * (mu - y) ** 2)), 2 * weight * (mu - y)


def root_squared_error(mu: Array, y: Array, s: Array) -> tuple[float, Array]:
    """Return the root mean squared error of each target, averaged."""
    weight = _column(s, mu)
    root = np.sqrt(np.sum(weight * (mu - y) ** 2, axis=0))
    safe = np.where(root > 0, root, 1.0)
    return float(np.mean(root)), weight * (mu - y) / (safe * np.size(root))


def negated_r2(mu: Array, y: Array, s: Array) -> tuple[float, Array]:
    """Return minus the coefficient of determination, averaged over targets.

    A constant target has the score 0 (1 where it is met), as scikit-learn says, and a
    single row has none.
    """
    if len(mu) < 2:
        return np.nan, np.full_like(mu, np.nan)
    weight = _column(s, mu)
    error = np.sum(weight * (mu - y) ** 2, axis=0)
    centre = np.sum(weight * y, axis=0)
    total = np.sum(weight * (y - centre) ** 2, axis=0)
    varies = total > 0
    safe = np.where(varies, total, 1.0)
    score = np.where(varies, 1 - error / safe, (error == 0) * 1.0)
    slope = 2 * weight * (mu - y) * varies / (safe * np.size(score))
    return -float(np.mean(score)), slope


def tweedie_deviance(power: float) -> Formula:
    """Return the mean Tweedie deviance of a power (0, 1, 2 are the usual ones)."""

    def formula(mu: Array, y: Array, s: Array) -> tuple[float, Array]:
        if power == 0:
            return squared_error(mu, y, s)
        if (mu <= 0).any():
            raise ValueError(
                "A deviance needs positive predictions, got a smallest one of "
                f"{mu.min()}. Use a model with a log link."
            )
        slope = 2 * s * (mu - y) * mu**-power
        return float(s @ _deviance(mu, y, power)), slope

    return formula


def _deviance(mu: Array, y: Array, power: float) -> Array:
    if power == 1:
        ratio = np.where(y > 0, y, mu) / mu
        return np.asarray(2 * (y * np.log(ratio) - y + mu))
    if power == 2:
        return np.asarray(2 * (np.log(mu / y) + y / mu - 1))
    a, b = 2 - power, 1 - power
    floor = np.maximum(y, 0) ** a / (a * b)
    return np.asarray(2 * (floor - y * mu**b / b + mu**a / a))


def negated_d2(power: float) -> Formula:
    """Return minus the share of deviance explained, the score of the GLMs."""
    deviance = tweedie_deviance(power)

    def formula(mu: Array, y: Array, s: Array) -> tuple[float, Array]:
        value, slope = deviance(mu, y, s)
        mean = np.full(len(y), s @ y)
        null = deviance(mean, y, s)[0]
        if null == 0:
            return np.nan, np.full_like(mu, np.nan)
        return value / null - 1, slope / null

    return formula


def of_response(name: str, formula: Formula) -> OuterLoss:
    """Return a regression metric for both links."""
    return OuterLoss(name, {"identity": formula, "exp": _exp_link(formula)})


def of_decision(name: str, formula: Formula) -> OuterLoss:
    """Return a metric of decision values, for every classifier that has them."""
    return OuterLoss(name, dict.fromkeys(("logit", "softmax", "margin"), formula))
