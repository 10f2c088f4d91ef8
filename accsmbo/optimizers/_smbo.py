# SPDX-License-Identifier: BSD-3-Clause
"""SMBO: sequential model-based optimization of a black box.

Notation
--------
U, y    (n, d), (n,)    finished points and losses of one subspace
t       (n,)            transformed losses, what the surrogate sees
P       (m, d)          pending points; they enter at their posterior mean
best                    loss to improve on, in units of t
"""

import math
import warnings
from dataclasses import replace
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import clone

from accsmbo._validation import check_is
from accsmbo.acquisition import (
    AcquisitionFunction,
    LogExpectedImprovement,
    maximize_acquisition,
)
from accsmbo.acquisition._maximize import PENDING_RADIUS, perturbed
from accsmbo.exceptions import SurrogateFailedWarning
from accsmbo.optimizers._base import Observations, Optimizer
from accsmbo.optimizers._improvement_left import (
    expected_improvement_left,
    linear_improvement_left,
)
from accsmbo.optimizers._initial_design import InitialDesign
from accsmbo.optimizers._observations import with_failures
from accsmbo.optimizers._views import VIEWS, turn
from accsmbo.space import Subspace
from accsmbo.surrogates import (
    DerivativeGaussianProcess,
    GaussianProcess,
    RandomForestSurrogate,
    Surrogate,
)

__all__ = ["SMBO"]

FloatArray = NDArray[np.float64]

# Local candidates start from the incumbent and so many lowest posterior means, of
# the best N_GOOD observations.
N_STARTS = 5
N_GOOD = 50
# The forest takes over above so many observations, or where at least MANY dimensions
# are unordered choices and the others are fewer than half of them.
MAX_GP_POINTS = 2500
MANY = 8
# Kernel entries to spend on the candidates of one step; 600 candidates at n = 500.
KERNEL_ENTRIES = 300_000
MANY_POINTS = 1000
# Random points among which all proposals after the first are chosen.
N_SPREAD = 256


class SMBO(Optimizer):
    """Sequential model-based optimization (Algorithm 1 of the AccSMBO paper).

    Fit a surrogate to what is known, propose the point that maximises the acquisition
    function, and learn from its loss; the first points are a small design.

    Parameters
    ----------
    space : Space, dict or list of dict, default=None
        What to search.
    surrogate : Surrogate, default=None
        Model of the loss. None means :class:`~accsmbo.surrogates.GaussianProcess`, and
        :class:`~accsmbo.surrogates.RandomForestSurrogate` above 2500 observations or
        where 8 or more dimensions are unordered choices and fewer than half as many are
        not.
    acquisition : AcquisitionFunction, default=None
        None means augmented :class:`~accsmbo.acquisition.LogExpectedImprovement`.
    initial_design : InitialDesign, default=None
        None means the centre and three Sobol points.
    points_to_evaluate : list of dict, default=None
        Params to ask first; they count as points of the design.
    random_state : int, RandomState, Generator or None, default=None
        Seed.

    See Also
    --------
    RandomSearch : No model.

    References
    ----------
    .. [1] Using Gradient Based Multikernel Gaussian Process and Meta-Acquisition
       Function to Accelerate SMBO, ICTAI 2019, algorithm 1.

    Examples
    --------
    >>> from accsmbo import Real
    >>> from accsmbo.optimizers import SMBO
    >>> optimizer = SMBO({"x": Real(-1.0, 2.0)}, random_state=0)
    >>> for _ in range(12):
    ...     trial = optimizer.ask()
    ...     optimizer.tell(trial, trial.params["x"] ** 2)
    >>> bool(optimizer.history.best_value < 1e-3)
    True
    """

    def __init__(
        self,
        space: Any = None,
        *,
        surrogate: Surrogate | None = None,
        acquisition: Any = None,
        initial_design: InitialDesign | None = None,
        points_to_evaluate: list[dict[str, Any]] | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            space, points_to_evaluate=points_to_evaluate, random_state=random_state
        )
        self.surrogate = surrogate
        self.acquisition = acquisition
        self.initial_design = initial_design

    def _start(self) -> None:
        if hasattr(self, "history_"):
            return
        check_is(
            "surrogate",
            self.surrogate,
            (Surrogate, NoneType),
            "a surrogate such as GaussianProcess(), or None",
        )
        check_is(
            "acquisition",
            self.acquisition,
            (AcquisitionFunction, NoneType),
            "an acquisition function such as ExpectedImprovement(), or None",
        )
        check_is(
            "initial_design",
            self.initial_design,
            (InitialDesign, NoneType),
            "an InitialDesign, or None",
        )
        super()._start()

    def _propose(
        self, observations: Observations, rng: np.random.Generator
    ) -> FloatArray:
        subspace = observations.subspace
        if not hasattr(self, "_designs"):
            self._designs: dict[Subspace, list[FloatArray]] = {}
            self._models: dict[tuple[Any, ...], Any] = {}
            self.n_surrogate_failures_ = 0
        if subspace not in self._designs:
            design = self.initial_design or InitialDesign()
            points = list(design.points(subspace, rng))
            left = max(0, len(points) - observations.n_asked)
            self._designs[subspace] = points[:left]
        if self._designs[subspace]:
            return self._designs[subspace].pop(0)
        finished = ~observations.failed
        if subspace.n_dims == 0 or not finished.any():
            return rng.random(subspace.n_dims)
        try:
            return self._model_based(observations, rng)
        except (np.linalg.LinAlgError, ValueError, FloatingPointError) as error:
            self._say_failure(error)
            return rng.random(subspace.n_dims)

    def _say_failure(self, error: Exception) -> None:
        self.n_surrogate_failures_ += 1
        if self.n_surrogate_failures_ == 1:
            warnings.warn(
                f"the surrogate failed ({type(error).__name__}: {error}); a random "
                "point is proposed in such a step. Said once; "
                "n_surrogate_failures_ counts the steps.",
                SurrogateFailedWarning,
                stacklevel=3,
            )

    def expected_improvement(self) -> float:
        """Return what is still to gain, as far as a model can tell.

        A model of its own is fitted to all finished trials: asking changes nothing of
        what the optimizer does. Where the gradient at the best point is known, what it
        promises over the whole box is a second, upper estimate.

        Returns
        -------
        float
            In the units of the loss, the largest over the subspaces; infinity before
            the initial design is finished, and where the model fails.
        """
        self._start()
        lowest = float(self.history_.best_value)
        return max(
            self._improvement_left(index, lowest)
            for index in range(len(self.space_.subspaces))
        )

    def _improvement_left(self, index: int, lowest: float) -> float:
        observations = self.observations(index)
        if self._n_free(index) == 0:
            return 0.0
        if self._given or self._in_design(index) or observations.failed.all():
            return math.inf
        linear = linear_improvement_left(observations, lowest)
        rng = np.random.default_rng([self._root, len(self.history_), index])
        model = self._fresh_model(observations)
        try:
            expected = expected_improvement_left(model, observations, lowest, rng)
        except (np.linalg.LinAlgError, ValueError, FloatingPointError):
            return linear
        return min(linear, expected)

    def _fresh_model(self, observations: Observations) -> Any:
        """Return a surrogate that shares nothing with those of the proposals."""
        if self.surrogate is not None:
            return clone(self.surrogate)
        if np.isfinite(observations.gradient).any():
            return DerivativeGaussianProcess()
        forest = wants_forest(observations.subspace, len(observations.y))
        return RandomForestSurrogate() if forest else GaussianProcess()

    def _in_design(self, index: int) -> bool:
        subspace = self.space_.subspaces[index]
        return bool(getattr(self, "_designs", {}).get(subspace, True))

    def _propose_several(
        self, observations: Observations, rng: np.random.Generator, n: int
    ) -> list[FloatArray]:
        first = observations.subspace.snap(self._propose(observations, rng))
        if n == 1:
            return [first]
        pending = np.vstack([observations.pending, first])
        observations = replace(observations, pending=pending)
        if observations.subspace.n_dims == 0 or observations.failed.all():
            return [first, *super()._propose_several(observations, rng, n - 1)]
        try:
            return [first, *self._spread(observations, rng, n - 1)]
        except (np.linalg.LinAlgError, ValueError, FloatingPointError) as error:
            self._say_failure(error)
            return [first]

    def _spread(
        self, observations: Observations, rng: np.random.Generator, n: int
    ) -> list[FloatArray]:
        """Choose n points among random ones, each with those before it as pending."""
        subspace = observations.subspace
        model, best, starts = self._posterior(observations)
        C = np.vstack(
            [
                rng.random((N_SPREAD, subspace.n_dims)),
                perturbed(subspace, starts, rng, N_SPREAD // 2, (0.01, 0.3)),
            ]
        )
        C = np.unique(subspace.snap(C), axis=0)
        known = {row.tobytes() for row in [*observations.U, *observations.pending]}
        C = C[[row.tobytes() not in known for row in C]]
        radius = PENDING_RADIUS if (subspace.levels == 0).any() else 0.0
        C = C[cdist(C, observations.pending).min(axis=1) >= radius]
        chosen: list[FloatArray] = []
        while len(chosen) < n and len(C):
            acquisition = self._acquisition_of(observations, ahead=len(chosen) + 1)
            i = int(np.nanargmax(acquisition.evaluate(model, C, best)))
            chosen.append(C[i])
            believed = model.predict(C[[i]])[0]
            model = model.condition(C[[i]], believed)
            best = min(best, float(believed[0]))
            C = np.delete(C, i, axis=0)
            C = C[cdist(C, chosen[-1:])[:, 0] >= radius]
        return chosen

    def _model_based(
        self, observations: Observations, rng: np.random.Generator
    ) -> FloatArray:
        subspace = observations.subspace
        model, best, starts = self._posterior(observations)
        found = maximize_acquisition(
            self._acquisition_of(observations),
            subspace,
            surrogate=model,
            best=best,
            seen=observations.U,
            pending=observations.pending,
            starts=starts,
            rng=rng,
            **_effort(len(observations.U)),
        )
        return found[0] if len(found) else rng.random(subspace.n_dims)

    def _acquisition_of(
        self, observations: Observations, ahead: int = 0
    ) -> AcquisitionFunction:
        """Return what is maximised over one subspace, after so many more proposals."""
        return self.acquisition or LogExpectedImprovement(augmented=True)

    def _posterior(self, observations: Observations) -> tuple[Any, float, FloatArray]:
        """Return the model with fantasies, the loss to improve on, good points."""
        subspace = observations.subspace
        view = turn(observations.n_asked)
        failed = observations.failed
        finished = VIEWS[view].select(observations.y[~failed], subspace.n_dims)
        rows, t, slope = with_failures(failed, *finished)
        U, noise = observations.U[rows], observations.noise[rows] * slope
        model = self._model(subspace, view, len(observations.y))
        model.fit(U, t, categorical=subspace.categorical, noise=noise)
        good = np.argsort(t, kind="stable")[:N_GOOD]
        mean = model.predict(U[good])[0]
        exact = np.isnan(noise)
        best = float(t[exact].min() if exact.any() else mean.min())
        order = good[np.argsort(mean, kind="stable")[:N_STARTS]]
        starts = np.vstack([U[order], U[good[:1]]])
        if len(observations.pending):
            P = observations.pending
            believed = model.predict(P)[0]
            model = model.condition(P, believed)
            # what is pending need not be found again
            best = min(best, float(believed.min()))
        return model, best, starts

    def _model(self, subspace: Subspace, view: int, n: int) -> Any:
        """Return the surrogate of one subspace and view, kept between steps."""
        forest = self.surrogate is None and wants_forest(subspace, n)
        key = (subspace, view, forest)
        if key not in self._models:
            self._models[key] = (
                clone(self.surrogate)
                if self.surrogate is not None
                else RandomForestSurrogate()
                if forest
                else GaussianProcess(warm_start=True)
            )
        return self._models[key]


def _effort(n: int) -> dict[str, int]:
    """Return how many candidates to score and refine, fewer where each costs more."""
    n_local = int(np.clip(KERNEL_ENTRIES // max(1, 3 * n), 50, 200))
    n_refined = 4 if n <= MANY_POINTS else 2
    return {"n_random": 2 * n_local, "n_local": n_local, "n_refined": n_refined}


def wants_forest(subspace: Subspace, n: int) -> bool:
    """Whether a forest is the better default: many points, or mostly choices."""
    n_choices = int(np.count_nonzero(subspace.categorical))
    mostly = n_choices >= MANY and 2 * (subspace.n_dims - n_choices) < n_choices
    return n > MAX_GP_POINTS or mostly
