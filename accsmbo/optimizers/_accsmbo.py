# SPDX-License-Identifier: BSD-3-Clause
"""AccSMBO: gradients and experience in one search (Algorithm 3 of the paper).

Notation
--------
U, y, G     (n, d), (n,), (n, d)    finished points, losses, gradients; NaN = unknown
t           (n,)    log distance of the losses, what the surrogate sees
p                   density of good points on the unit cube
"""

import inspect
import warnings
from dataclasses import replace
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from accsmbo._validation import check_is, check_real, check_tolerance
from accsmbo.acquisition import AcquisitionFunction, MetaAcquisition
from accsmbo.exceptions import DensityWarning
from accsmbo.metalearning import MIN_TASKS, Density, EmpiricalDensity
from accsmbo.optimizers._initial_design import InitialDesign
from accsmbo.optimizers._local_first import LocalFirst, LocalState
from accsmbo.optimizers._observations import Observations, penalty
from accsmbo.optimizers._smbo import SMBO
from accsmbo.space import Subspace
from accsmbo.surrogates import (
    DerivativeGaussianProcess,
    Surrogate,
)
from accsmbo.surrogates._bfgs import minimize_bfgs
from accsmbo.surrogates._log_distance import log_distance

__all__ = ["AccSMBO"]

FloatArray = NDArray[np.float64]

# Local candidates start from so many best points.
N_STARTS = 5
# Random starts in the trust region, and calls, of the search under the surrogate.
N_REFINE_STARTS, N_REFINE_CALLS = 6, 25
# By how much the accuracy of inner solves tightens with each trial.
TIGHTEN = 0.3
# The density weights every so many of the model's proposals; the others are plain, so
# that a wrong one cannot keep the search from where it would have gone.
DENSITY_TURN = 2
# A learned density proposes the first point from so many good source tasks on.
MODE_TASKS = 20


class AccSMBO(SMBO):
    """SMBO that uses gradients of the loss and a density of good points.

    Without gradients it is :class:`SMBO` with experience, without a density SMBO with
    gradients, without both SMBO itself. Where gradients are told, one point is the
    whole design; then come local steps (:class:`LocalFirst`), improved under a Gaussian
    process on values and gradients of the logarithm of the loss, and the acquisition
    function in regular turns and whenever a descent has ended. The density weights the
    acquisition function (:class:`~accsmbo.acquisition.MetaAcquisition`) in every second
    step.

    Parameters
    ----------
    space : Space, dict or list of dict, default=None
        What to search.
    surrogate : Surrogate, default=None
        Model of the loss. None: without gradients as in :class:`SMBO`; with them
        :class:`~accsmbo.surrogates.DerivativeGaussianProcess`, which keeps as many
        points, and gradients of the best, as it can afford.
    acquisition : AcquisitionFunction, default=None
        None means :class:`~accsmbo.acquisition.LogExpectedImprovement`.
    density : EmpiricalDensity, PriorDensity or None, default=None
        Where good points are. One that was learned for another space is carried over
        by parameter names; one of fewer than three source tasks is ignored with a
        warning.
    rate : float, default=1.0
        How far to trust the density, in [0, 1].
    local_first : LocalFirst or None, default=LocalFirst()
        The local steps; None: none.
    initial_tolerance : float or None, default=None
        Relative accuracy asked of the first inner solves, which tightens by the
        factor 0.3 with each finished trial; None: no inner solves, or tight ones.
    tolerance : float, default=3e-4
        Where it ends.
    initial_design : InitialDesign, default=None
        None means the centre and three Sobol points, of which only the centre is
        evaluated if that gives a full gradient. The mode of a density learned from 20
        tasks of 50 evaluations or more comes before it, where `points_to_evaluate` is
        None.
    points_to_evaluate : list of dict, default=None
        Params to ask first; they count as points of the design.
    random_state : int, RandomState, Generator or None, default=None
        Seed.

    See Also
    --------
    SMBO : Neither gradients nor experience.
    HOAG : Gradients alone.

    References
    ----------
    .. [1] Using Gradient Based Multikernel Gaussian Process and Meta-Acquisition
       Function to Accelerate SMBO, ICTAI 2019, algorithm 3.

    Examples
    --------
    >>> from accsmbo import Real
    >>> from accsmbo.optimizers import AccSMBO
    >>> optimizer = AccSMBO({"x": Real(-1.0, 2.0)}, random_state=0)
    >>> for _ in range(5):
    ...     trial = optimizer.ask()
    ...     x = trial.params["x"]
    ...     optimizer.tell(trial, 1.0 + x**2, {"x": 2 * x})
    >>> bool(optimizer.history.best_value < 1.001)
    True
    """

    def __init__(
        self,
        space: Any = None,
        *,
        surrogate: Surrogate | None = None,
        acquisition: AcquisitionFunction | None = None,
        density: Density | None = None,
        rate: float = 1.0,
        local_first: LocalFirst | None = LocalFirst(),  # noqa: B008 (only settings)
        initial_tolerance: float | None = None,
        tolerance: float = 3e-4,
        initial_design: InitialDesign | None = None,
        points_to_evaluate: list[dict[str, Any]] | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            space,
            surrogate=surrogate,
            acquisition=acquisition,
            initial_design=initial_design,
            points_to_evaluate=points_to_evaluate,
            random_state=random_state,
        )
        self.density = density
        self.rate = rate
        self.local_first = local_first
        self.initial_tolerance = initial_tolerance
        self.tolerance = tolerance

    def _start(self) -> None:
        if hasattr(self, "history_"):
            return
        check_is(
            "density",
            self.density,
            (Density, NoneType),
            "an EmpiricalDensity, a PriorDensity or None",
        )
        local_first = (LocalFirst, NoneType)
        check_is("local_first", self.local_first, local_first, "a LocalFirst, or None")
        if self.initial_tolerance is not None:
            check_tolerance("initial_tolerance", self.initial_tolerance)
        check_tolerance("tolerance", self.tolerance)
        rate = check_real("rate", self.rate)
        if not 0.0 <= rate <= 1.0:
            raise ValueError(
                f"rate must lie in [0, 1], got {self.rate!r}. 0 ignores the density, 1 "
                "trusts it fully at the start."
            )
        super()._start()
        # as SMBO does with its first proposal, which may never be asked for
        self._designs, self._models, self.n_surrogate_failures_ = {}, {}, 0
        self._local_states: dict[Subspace, LocalState] = {}
        self._gradient_models: dict[tuple[Subspace, bool], Any] = {}
        self._first_modelled: dict[Subspace, int] = {}
        self._density_in_use = self._usable_density()

    def _usable_density(self) -> Density | None:
        """Return the density on this search's space, or None with a warning."""
        if self.density is None:
            return None
        density = self.density.on(self.space_)
        if isinstance(density, EmpiricalDensity):
            if density.n_tasks_ < MIN_TASKS:
                missing = MIN_TASKS - density.n_tasks_
                warnings.warn(
                    f"density is ignored: it rests on {density.n_tasks_} source tasks "
                    f"with a point in this space and needs {missing} more to say "
                    "anything. Add tasks, or give a prior belief as PriorDensity.",
                    DensityWarning,
                    stacklevel=4,
                )
                return None
            density.warn_if_uninformative()
        return density

    def _propose(
        self, observations: Observations, rng: np.random.Generator
    ) -> FloatArray:
        mode = self._mode_first(observations)
        if mode is not None:
            return mode
        known = np.isfinite(observations.gradient)
        index = self._index_of(observations.subspace)
        if not known.any() or (self._in_design(index) and not known.all(axis=1).any()):
            return super()._propose(observations, rng)
        self._designs[observations.subspace] = []
        return self._with_gradients(observations, rng)

    def _tolerance(self, observations: Observations) -> float | None:
        if self.initial_tolerance is None:
            return None
        tightened = self.initial_tolerance * TIGHTEN ** len(observations.y)
        return float(max(tightened, self.tolerance))

    def _mode_first(self, observations: Observations) -> FloatArray | None:
        """Return the mode of a well-founded learned density as the first point."""
        density = self._density_in_use
        first = observations.n_asked == 0 and observations.subspace.n_dims > 0
        if not first or not isinstance(density, EmpiricalDensity) or self.rate == 0:
            return None
        if density.n_good_tasks_ < MODE_TASKS:
            return None
        return density.mode(self._index_of(observations.subspace))

    def _with_gradients(
        self, observations: Observations, rng: np.random.Generator
    ) -> FloatArray:
        """Return a local step, or what the acquisition function takes."""
        try:
            local = self._local_step(observations, rng)
            return self._model_based(observations, rng) if local is None else local
        except (np.linalg.LinAlgError, ValueError, FloatingPointError) as error:
            self._say_failure(error)
            return rng.random(observations.subspace.n_dims)

    def _local_step(
        self, observations: Observations, rng: np.random.Generator
    ) -> FloatArray | None:
        if self.local_first is None:
            return None
        subspace = observations.subspace
        state = self._local_states.setdefault(subspace, LocalState())
        return self.local_first.propose(
            state,
            observations.U,
            observations.y,
            observations.gradient,
            refine=_Refinement(self, observations, rng),
            pending=observations.pending,
        )

    def _posterior(self, observations: Observations) -> tuple[Any, float, FloatArray]:
        if not np.isfinite(observations.gradient).any():
            return super()._posterior(observations)
        model, t, _ = self._fit_gradients(observations)
        best = float(t.min())
        order = np.argsort(observations.y, kind="stable")
        starts = observations.U[order[:N_STARTS]]
        if len(observations.pending):
            believed = model.predict(observations.pending)[0]
            model = model.condition(observations.pending, believed)
            best = min(best, float(believed.min()))
        return model, best, starts

    def _fit_gradients(
        self, observations: Observations
    ) -> tuple[Any, FloatArray, FloatArray]:
        """Return the surrogate on the log distance, fitted, its losses and dt/dy."""
        t, slope = _log_distance(observations)
        key = (observations.subspace, bool(observations.failed.any()))
        if key not in self._gradient_models:
            self._gradient_models[key] = (
                DerivativeGaussianProcess(warm_start=True)
                if self.surrogate is None
                else clone(self.surrogate)
            )
        model, more = self._gradient_models[key], {}
        known = observations.U, observations.y, observations.gradient
        seen = (key, *(array.tobytes() for array in known))
        if getattr(self, "_fitted_to", None) == seen:
            return model, t, slope
        if "gradient" in inspect.signature(model.fit).parameters:
            more["gradient"] = observations.gradient * slope[:, None]
        model.fit(
            observations.U,
            t,
            categorical=observations.subspace.categorical,
            noise=observations.noise * slope,
            **more,
        )
        self._fitted_to = seen
        return model, t, slope

    def _acquisition_of(
        self, observations: Observations, ahead: int = 0
    ) -> AcquisitionFunction:
        acquisition = super()._acquisition_of(observations, ahead)
        if self._density_in_use is None or self.rate == 0:
            return acquisition
        subspace = observations.subspace
        index = self._index_of(subspace)
        # By trials asked: proposals that no worker takes do not make the density fade.
        n_asked = observations.n_started
        step = ahead + n_asked - self._first_modelled.setdefault(subspace, n_asked)
        if step % DENSITY_TURN:
            return acquisition
        return MetaAcquisition(
            acquisition,
            self._density_in_use,
            rate=self.rate,
            step=step,
            subspace=index,
        )

    def _index_of(self, subspace: Subspace) -> int:
        return self.space_.subspaces.index(subspace)


class _Refinement:
    """Lowers the posterior mean in a box around a point.

    Failures are left out: near one, gradients tell more than its made-up loss.
    """

    def __init__(
        self,
        optimizer: AccSMBO,
        observations: Observations,
        rng: np.random.Generator,
    ) -> None:
        self.optimizer = optimizer
        self.failed = observations.failed
        self.finished = _finished(observations)
        self.rng = rng

    def __call__(
        self, centre: int, start: FloatArray, low: FloatArray, high: FloatArray
    ) -> tuple[FloatArray, float]:
        model, t, slope = self.optimizer._fit_gradients(self.finished)
        centre -= int(np.count_nonzero(self.failed[:centre]))
        random = low + (high - low) * self.rng.random((N_REFINE_STARTS, len(low)))
        starts = np.vstack([self.finished.U[centre], start, random])

        def mean(X: FloatArray) -> tuple[FloatArray, FloatArray]:
            value, _, gradient, _ = model.predict_gradient(X)
            return value, gradient

        found, values = minimize_bfgs(
            mean,
            np.clip(starts, low, high),
            low,
            high,
            max_calls=N_REFINE_CALLS,
            max_step=0.2,
        )
        best = int(np.argmin(values))
        # the gain in t, taken back to losses at the centre
        gain = -np.expm1(float(values[best] - t[centre])) / float(slope[centre])
        return found[best], float(gain)


def _finished(observations: Observations) -> Observations:
    """Return the observations without the failed ones."""
    ok = ~observations.failed
    return replace(
        observations,
        U=observations.U[ok],
        y=observations.y[ok],
        failed=observations.failed[ok],
        gradient=observations.gradient[ok],
        noise=observations.noise[ok],
    )


def _log_distance(observations: Observations) -> tuple[FloatArray, FloatArray]:
    """Return t and dt/dy; of failed trials above all others, on the scale of t."""
    failed = observations.failed
    t, slope = np.empty_like(observations.y), np.ones_like(observations.y)
    t[~failed], slope[~failed] = log_distance(observations.y[~failed])
    t[failed] = penalty(t[~failed])
    return t, slope
