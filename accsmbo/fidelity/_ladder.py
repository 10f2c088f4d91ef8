# SPDX-License-Identifier: BSD-3-Clause
"""Ladder: what all strategies over a resource share."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accsmbo._validation import check_integer, check_real, closest_names
from accsmbo.evaluation import CrossValidationObjective
from accsmbo.fidelity._base import Records, Selection
from accsmbo.fidelity._bracket import resource_levels
from accsmbo.fidelity._objective import N_SAMPLES, FidelityObjective
from accsmbo.fidelity._rung_optimizer import RungOptimizer
from accsmbo.fidelity._subsample import strata
from accsmbo.optimizers import HOAG, Optimizer

__all__ = ["Ladder"]


class Ladder(Selection):
    """Base of the strategies that give a part of the resource first.

    A subclass implements ``_plan``. Its candidates are fitted by the estimator itself,
    also in searches that otherwise use gradients.

    Parameters
    ----------
    resource : str, default="n_samples"
        ``"n_samples"``, or an integer parameter of the estimator.
    factor : float, default=3
        Of each rung ``1 / factor`` go on, to `factor` times the resource.
    min_resources : int or "auto", default="auto"
        Smallest amount to give.
    max_resources : int or "auto", default="auto"
        Amount on the last rung.
    continue_fits : bool, default=True
        Whether fitted estimators go on where they can.
    random_state : int, default=0
        Seed of the subsamples.
    """

    unit = "evaluation"

    def __init__(
        self,
        resource: str = N_SAMPLES,
        *,
        factor: float = 3,
        min_resources: int | str = "auto",
        max_resources: int | str = "auto",
        continue_fits: bool = True,
        random_state: int = 0,
    ) -> None:
        self.resource = resource
        self.factor = factor
        self.min_resources = min_resources
        self.max_resources = max_resources
        self.continue_fits = continue_fits
        self.random_state = random_state

    def _plan(
        self, n_candidates: int, levels: list[int]
    ) -> tuple[list[int], list[tuple[int, int]], int]:
        """Return levels, brackets and the largest number of trials.

        Brackets are pairs of the first rung and the number of candidates.
        """
        raise NotImplementedError

    def _form(self) -> dict[str, bool]:
        """Return the form of the brackets, arguments of RungOptimizer."""
        return {}

    def check(self, objective: CrossValidationObjective, optimizer: Optimizer) -> None:
        """Check the arguments against what is to be tuned, before anything runs.

        Parameters
        ----------
        objective : CrossValidationObjective
            Estimator, data and folds.
        optimizer : Optimizer
            Not started; its ``space`` is what is searched.

        Raises
        ------
        TypeError, ValueError
            If an argument is invalid, the estimator lacks the resource, or it is
            searched over.
        """
        if isinstance(optimizer, HOAG):
            raise ValueError(
                f"selection={self!r} needs an optimizer that does without gradients, "
                "got HOAG. Use AccSMBOSearchCV or SMBOSearchCV."
            )
        if check_real("factor", self.factor) < 2:
            raise ValueError(
                f"factor must be at least 2, got {self.factor!r}. 1 / factor of the "
                "candidates go on; give 3 or 4."
            )
        check_integer("random_state", self.random_state, minimum=0)
        self._check_resource(objective)
        if self.resource in optimizer.space.names:
            raise ValueError(
                f"resource must not be searched over, got resource={self.resource!r}, "
                "which the search space names. Take it out of one of the two."
            )
        self._levels(objective)

    def adapt(self, objective: CrossValidationObjective) -> FidelityObjective:
        """Return the objective that obeys ``fidelity``.

        Parameters
        ----------
        objective : CrossValidationObjective
            Evaluates every trial with the full resource.

        Returns
        -------
        FidelityObjective
            Travels to the workers.
        """
        return FidelityObjective.of(
            objective,
            self.resource,
            self._levels(objective)[-1],
            continues=self.continue_fits,
            seed=self.random_state,
        )

    def wrap(
        self, optimizer: Optimizer, n_trials: int, objective: CrossValidationObjective
    ) -> tuple[RungOptimizer, int]:
        """Return the optimizer that is asked and told, and the budget in its trials.

        Parameters
        ----------
        optimizer : Optimizer
            Proposes candidates; not started.
        n_trials : int
            Budget in candidates.
        objective : CrossValidationObjective
            As returned by :meth:`adapt`.

        Returns
        -------
        optimizer : RungOptimizer
            Not started.
        n_trials : int
            Largest number of trials.
        """
        levels, brackets, n_most = self._plan(n_trials, self._levels(objective))
        rungs = RungOptimizer(
            optimizer,
            levels=levels,
            brackets=brackets,
            factor=float(self.factor),
            parameter=None if self.resource == N_SAMPLES else self.resource,
            **self._form(),
        )
        return rungs, n_most

    def may_win(self, records: Records) -> NDArray[np.bool_]:
        """Tell which trials may be the best of the search.

        Parameters
        ----------
        records : sequence of (Trial, Evaluation)
            All finished trials.

        Returns
        -------
        ndarray of bool of shape (n_records,)
            True for those with the largest amount at which one succeeded; for all where
            none did.
        """
        amounts = _amounts(records)
        succeeded = np.array([not e.failed for _, e in records], dtype=bool)
        if not succeeded.any():
            return np.ones(len(records), dtype=bool)
        return np.asarray(amounts == amounts[succeeded].max())

    def columns(self, records: Records) -> dict[str, Any]:
        """Return the columns of scikit-learn's halving searches.

        Parameters
        ----------
        records : sequence of (Trial, Evaluation)
            All finished trials.

        Returns
        -------
        dict of str to ndarray of shape (n_records,)
            ``iter``: how often the candidate had been promoted; ``n_resources``: amount
            of the resource.
        """
        seen: dict[tuple[int, bytes], int] = {}
        iteration = []
        for trial, _ in records:
            key = trial.subspace, trial.unit.tobytes()
            iteration.append(seen.get(key, 0))
            seen[key] = iteration[-1] + 1
        return {"iter": np.array(iteration), "n_resources": _amounts(records)}

    def attributes(self, records: Records) -> dict[str, Any]:
        """Return the attributes of scikit-learn's halving searches.

        Parameters
        ----------
        records : sequence of (Trial, Evaluation)
            All finished trials.

        Returns
        -------
        dict of str to object
            ``n_resources_``, ``n_candidates_``: amounts of the resource in use and how
            many candidates were evaluated with each; ``n_iterations_``,
            ``min_resources_``, ``max_resources_``.
        """
        amounts, counts = np.unique(_amounts(records), return_counts=True)
        return {
            "n_resources_": [int(amount) for amount in amounts],
            "n_candidates_": [int(count) for count in counts],
            "n_iterations_": len(amounts),
            "min_resources_": int(amounts[0]),
            "max_resources_": int(amounts[-1]),
        }

    def advice(self, records: Records) -> str:
        """Return what to add to the message that all fits failed.

        Parameters
        ----------
        records : sequence of (Trial, Evaluation)
            All finished trials.

        Returns
        -------
        str
            Says with how much of the resource they failed.
        """
        return (
            f"No candidate succeeded with {_amounts(records).max()} of "
            f"resource={self.resource!r}, so that none got more. If that is too little "
            f"for a fit, raise min_resources={self.min_resources!r}."
        )

    def _check_resource(self, objective: CrossValidationObjective) -> None:
        if not isinstance(self.resource, str):
            raise TypeError(
                f"resource must be a str, got {self.resource!r} (of type "
                f"{type(self.resource).__name__}). Give 'n_samples' or the name of a "
                "parameter."
            )
        params = objective.estimator.get_params(deep=True)
        if self.resource == N_SAMPLES:
            return
        if self.resource not in params:
            raise ValueError(
                f"resource must be 'n_samples' or a parameter of the estimator, got "
                f"{self.resource!r}, which {objective.estimator!r} does not have. "
                f"{closest_names(self.resource, params)} Rename it."
            )
        value = params[self.resource]
        if value is not None and not _is_whole(value):
            raise ValueError(
                "resource must be an integer parameter of the estimator, got "
                f"{self.resource!r}, whose value is {value!r}. Give one that counts, "
                "such as n_estimators or max_iter."
            )

    def _levels(self, objective: CrossValidationObjective) -> list[int]:
        """Return the amounts of the resource from the least to the most."""
        most = self._max_resources(objective)
        least = self._min_resources(objective, most)
        if least > most:
            raise ValueError(
                f"min_resources must be at most max_resources, got {least} and {most}. "
                "Lower the one or raise the other."
            )
        return resource_levels(least, most, float(self.factor))

    def _max_resources(self, objective: CrossValidationObjective) -> int:
        in_samples = self.resource == N_SAMPLES
        if self.max_resources != "auto":
            most = check_integer("max_resources", self.max_resources, minimum=1)
            if in_samples and most > _n_rows(objective):
                raise ValueError(
                    "max_resources must be at most the number of samples, got "
                    f"{most} for {_n_rows(objective)} samples. Leave it out to use all."
                )
            return most
        if in_samples:
            return _n_rows(objective)
        value = objective.estimator.get_params(deep=True)[self.resource]
        if not _is_whole(value) or value < 1:
            raise ValueError(
                "max_resources must be given where the estimator's own value of the "
                f"resource is not a positive integer, got {self.resource}={value!r}. "
                "Give the largest amount that is worth its time."
            )
        return int(value)

    def _min_resources(self, objective: CrossValidationObjective, most: int) -> int:
        if self.min_resources != "auto":
            return check_integer("min_resources", self.min_resources, minimum=1)
        if self.resource != N_SAMPLES:
            return 1
        classes = strata(objective.estimator, objective.y)
        n_classes = 1 if classes is None else int(classes.max()) + 1
        return min(most, 2 * n_classes * objective.n_folds)


def _amounts(records: Records) -> NDArray[np.intp]:
    return np.array([int(trial.fidelity or 0) for trial, _ in records])


def _n_rows(objective: CrossValidationObjective) -> int:
    X = objective.X
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _is_whole(value: Any) -> bool:
    return isinstance(value, (Integral, np.integer)) and not isinstance(value, bool)
