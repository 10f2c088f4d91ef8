# SPDX-License-Identifier: BSD-3-Clause
"""MetaAcquisition: an acquisition function weighted by a density of good points.

Notation
--------
a, p    (m,)    acquisition value and density at m points
q       (m,)    p over its largest value
t               number of model-based proposals so far
w = rate exp(-t / fade)

mixture     score = a~ (1 - w + w q)                   design (5.3), after paper 4.2.1
piBO        score = a~ q^(rate strength / (t + 1))

a~ is a up to a constant factor, which changes no order: EI itself, the exponential of
log EI; for other functions the distance above the least of some fixed points. Scores
are returned as logarithms.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from accsmbo._validation import check_real
from accsmbo.acquisition._base import AcquisitionFunction
from accsmbo.acquisition._expected_improvement import (
    ExpectedImprovement,
    LogExpectedImprovement,
)
from accsmbo.acquisition._probability_of_improvement import ProbabilityOfImprovement
from accsmbo.metalearning import Density

__all__ = ["MetaAcquisition"]

FloatArray = NDArray[np.float64]

# Fixed points that tell the scale of an acquisition function of any sign.
N_REFERENCE = 256
# Such a function never counts for less than this share of its range.
SMALLEST_SHARE = 1e-3
TINY = 1e-300


class MetaAcquisition(AcquisitionFunction):
    """Acquisition function that prefers where good points were found before.

    Dense regions go first; the preference fades with the number of steps, and what is
    left is the plain acquisition function. With the mixture a density can never lower a
    value by more than the factor 1 - w, so that a wrong one costs a few evaluations.

    Parameters
    ----------
    acquisition : AcquisitionFunction
        What is weighted.
    density : Density
        Fitted density.
    rate : float, default=1.0
        How far to trust it, in [0, 1].
    fade : float, default=5.0
        Steps after which the weight has fallen to 1/e.
    form : {"mixture", "pibo"}, default="mixture"
        The second gains a little more from a right density and loses two to three
        times more by a wrong one.
    strength : float, default=3.0
        Exponent of the second form at the first step.
    step : int, default=0
        Model-based proposals before this one.
    subspace : int, default=0
        Index of the subspace of the density.

    See Also
    --------
    EmpiricalDensity : Learned from earlier searches.

    References
    ----------
    .. [1] Using Gradient Based Multikernel Gaussian Process and Meta-Acquisition
       Function to Accelerate SMBO, ICTAI 2019, section 4.2.
    .. [2] C. Hvarfner et al., piBO: Augmenting Acquisition Functions with User Beliefs
       for Bayesian Optimization, 2022, eq. 5.

    Examples
    --------
    >>> import numpy as np
    >>> from accsmbo import Real
    >>> from accsmbo.acquisition import ExpectedImprovement, MetaAcquisition
    >>> from accsmbo.metalearning import EmpiricalDensity
    >>> from accsmbo.surrogates import GaussianProcess
    >>> density = EmpiricalDensity().fit([[0.2], [0.25], [0.3]], {"x": Real(0, 1)})
    >>> model = GaussianProcess().fit([[0.5]], [1.0])
    >>> meta = MetaAcquisition(ExpectedImprovement(), density)
    >>> low, high = meta.evaluate(model, np.array([[0.25], [0.75]]), 1.0)
    >>> bool(low > high)
    True
    """

    def __init__(
        self,
        acquisition: AcquisitionFunction,
        density: Density,
        *,
        rate: float = 1.0,
        fade: float = 5.0,
        form: str = "mixture",
        strength: float = 3.0,
        step: int = 0,
        subspace: int = 0,
    ) -> None:
        self.acquisition = acquisition
        self.density = density
        self.rate = rate
        self.fade = fade
        self.form = form
        self.strength = strength
        self.step = step
        self.subspace = subspace

    @property
    def weight(self) -> float:
        """The weight w of this step.

        Raises
        ------
        ValueError
            If `rate` is not in [0, 1], `fade` not positive, or `form` unknown.
        """
        rate, fade = check_real("rate", self.rate), check_real("fade", self.fade)
        if not 0.0 <= rate <= 1.0:
            raise ValueError(
                f"rate must lie in [0, 1], got {self.rate!r}. 0 ignores the density, 1 "
                "trusts it fully at the start."
            )
        if fade <= 0.0:
            raise ValueError(
                f"fade must be positive, got {self.fade!r}. 5 steps are usual."
            )
        if self.form not in ("mixture", "pibo"):
            raise ValueError(
                f"form must be 'mixture' or 'pibo', got {self.form!r}. The first is "
                "the safe one."
            )
        return rate * float(np.exp(-self.step / fade))

    def partials(
        self, mean: FloatArray, std: FloatArray, best: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return those of the function that is weighted; the density needs a point.

        Parameters
        ----------
        mean, std : ndarray of shape (m,)
            Posterior of the loss.
        best : float
            Loss to improve on.

        Returns
        -------
        a, by_mean, by_std : ndarray of shape (m,)
        """
        return self.acquisition.partials(mean, std, best)

    def evaluate(self, surrogate: Any, U: FloatArray, best: float) -> FloatArray:
        """Return the logarithm of the score at points of the unit cube.

        Parameters
        ----------
        surrogate : Surrogate
            Fitted surrogate.
        U : ndarray of shape (m, d)
            Points.
        best : float
            Loss to improve on, in the units of the surrogate.

        Returns
        -------
        ndarray of shape (m,)
            Larger is better.
        """
        a = self.acquisition.evaluate(surrogate, U, best)
        log_a, _ = self._log(a, surrogate, best)
        return log_a + self._log_weight(U)[0]

    def evaluate_with_gradient(
        self, surrogate: Any, U: FloatArray, best: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return the logarithm of the score and its derivative by the coordinates.

        Parameters
        ----------
        surrogate : Surrogate
            Fitted surrogate.
        U : ndarray of shape (m, d)
            Points.
        best : float
            Loss to improve on, in the units of the surrogate.

        Returns
        -------
        a : ndarray of shape (m,)
            Logarithms of the scores.
        gradient : ndarray of shape (m, d)
            0 along categories.
        """
        a, gradient = self.acquisition.evaluate_with_gradient(surrogate, U, best)
        log_a, slope = self._log(a, surrogate, best)
        log_weight, by_u = self._log_weight(U)
        return log_a + log_weight, slope[:, None] * gradient + by_u

    def _log(
        self, a: FloatArray, surrogate: Any, best: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return log a~ and its derivative by a."""
        if isinstance(self.acquisition, LogExpectedImprovement):
            return a, np.ones_like(a)
        low, scale = 0.0, 1.0
        if not isinstance(
            self.acquisition, (ExpectedImprovement, ProbabilityOfImprovement)
        ):
            low, scale = self._range(surrogate, best)
        share = (a - low) / scale
        floor = TINY if low == 0.0 and scale == 1.0 else SMALLEST_SHARE
        clipped = np.maximum(share, floor)
        return np.log(clipped), np.where(share > floor, 1.0 / (clipped * scale), 0.0)

    def _range(self, surrogate: Any, best: float) -> tuple[float, float]:
        """Return the least value at fixed points, and the range of values."""
        where = self.density.space_.subspaces[self.subspace]
        sobol = qmc.Sobol(where.n_dims, scramble=True, seed=0)
        reference = where.snap(sobol.random(N_REFERENCE))
        a = self.acquisition.evaluate(surrogate, reference, best)
        low = float(np.min(a))
        return low, max(float(np.max(a)) - low, TINY)

    def _log_weight(self, U: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the logarithm of the factor and its derivative, (m,) and (m, d)."""
        w = self.weight
        peak = self.density.peak(self.subspace)
        q = self.density.pdf(U, self.subspace) / peak
        dq = self.density.gradient(U, self.subspace) / peak
        if self.form == "pibo":
            power = self.rate * self.strength / (self.step + 1.0)
            q = np.maximum(q, TINY)
            return power * np.log(q), power * dq / q[:, None]
        factor = np.maximum(1.0 - w + w * q, TINY)
        return np.log(factor), w * dq / factor[:, None]
