# SPDX-License-Identifier: BSD-3-Clause
"""Candidates of a hyper-deep ensemble: a configuration with a seed, and its folds.

The first line of Algorithm 1 (a search) and lines 4-7 (more seeds for the chosen
configurations) of Wenzel et al. (2020).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone

from accsmbo.ensembles._cross_fit import cross_fit, has_seed, seeded
from accsmbo.ensembles._objectives import make_objective
from accsmbo.exceptions import SpaceExhausted

__all__ = ["Candidate", "Trainer", "search_candidates", "stratify"]


@dataclass(frozen=True, eq=False)
class Candidate:
    """One configuration with one seed.

    Attributes
    ----------
    estimator : estimator
        Unfitted, with parameters and seed set.
    params : dict
        The configuration.
    seed : int or None
        None: the seed that the estimator came with, or it has none.
    prediction : ndarray of float32 of shape (n_rows, n_outputs), or None
        Out-of-fold predictions; None where a fit failed.
    models : list of estimator
        The folds' models, where they were kept.
    """

    estimator: Any
    params: dict[str, Any]
    seed: int | None
    prediction: NDArray[np.float32] | None
    models: list[Any] = field(default_factory=list)


class Trainer:
    """Trains configurations on the folds and counts the fits.

    Parameters
    ----------
    estimator : estimator
        What is tuned.
    X : array-like of shape (n_samples, n_features)
        Data.
    y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Target.
    splits : sequence of (train, test)
        Folds.
    classes : ndarray of shape (n_classes,) or None
        All classes; None for regressors.
    keep_models : bool
        Whether candidates keep the folds' models.
    n_jobs : int or None
        As in joblib.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        splits: Sequence[tuple[Any, Any]],
        classes: Any,
        *,
        keep_models: bool,
        n_jobs: int | None,
    ) -> None:
        self.estimator = estimator
        self.X = X
        self.y = y
        self.splits = splits
        self.classes = classes
        self.keep_models = keep_models
        self.n_jobs = n_jobs
        self.n_fits = 0
        self.errors: list[Exception | None] = []

    @property
    def batch(self) -> int:
        """Number of configurations that keep the workers busy."""
        return -(-effective_n_jobs(self.n_jobs) // len(self.splits))

    def configured(self, params: dict[str, Any], seed: int | None) -> Any:
        """Return the estimator with parameters and seed set.

        Parameters
        ----------
        params : dict
            The configuration.
        seed : int or None
            None leaves the seeds as they are.

        Returns
        -------
        estimator
            Unfitted.
        """
        estimator = clone(self.estimator).set_params(**clone(params, safe=False))
        return estimator if seed is None else seeded(estimator, seed)

    def train(
        self, jobs: Sequence[tuple[dict[str, Any], int | None]]
    ) -> list[Candidate]:
        """Train configurations on the folds.

        Parameters
        ----------
        jobs : sequence of (params, seed)
            What to train.

        Returns
        -------
        list of Candidate
            One for each job; failures are in ``errors``.
        """
        estimators = [self.configured(params, seed) for params, seed in jobs]
        results = cross_fit(
            estimators,
            self.X,
            self.y,
            self.splits,
            self.classes,
            n_jobs=self.n_jobs,
            keep_models=self.keep_models,
        )
        self.n_fits += len(jobs) * len(self.splits)
        self.errors += [result.error for result in results]
        return [
            Candidate(estimator, params, seed, result.prediction, result.models)
            for estimator, (params, seed), result in zip(
                estimators, jobs, results, strict=True
            )
        ]


def search_candidates(
    trainer: Trainer,
    optimizer: Any,
    n_candidates: int,
    *,
    truth: NDArray[Any],
    score: Any,
    greater_is_better: bool,
    seed: int | None,
) -> list[Candidate]:
    """Ask an optimizer for configurations, train them, and tell it their losses.

    Parameters
    ----------
    trainer : Trainer
        Trains them.
    optimizer : Optimizer
        With a space.
    n_candidates : int
        Budget; a finite space may end earlier.
    truth : ndarray of shape (n_rows,) or (n_rows, n_targets)
        Target of the predicted rows.
    score : str or callable
        What makes the loss, see `greedy_selection`.
    greater_is_better : bool
        Direction of a callable.
    seed : int or None
        Seed of all candidates; None: each has its trial's.

    Returns
    -------
    list of Candidate
        Those that succeeded.
    """
    found: list[Candidate] = []
    asked = 0
    while asked < n_candidates:
        left = n_candidates - asked
        trials = _ask(
            optimizer, min(left, trainer.batch) if optimizer.adaptive else left
        )
        if not trials:
            break
        asked += len(trials)
        varied = has_seed(trainer.estimator)
        jobs = [
            (t.params, (t.seed if seed is None else seed) if varied else None)
            for t in trials
        ]
        for trial, candidate in zip(trials, trainer.train(jobs), strict=True):
            if candidate.prediction is None:
                optimizer.tell(trial, error="a fit failed")
                continue
            found.append(candidate)
            values = candidate.prediction[None]
            optimizer.tell(
                trial, _loss(values, truth, score, greater_is_better, trainer.classes)
            )
    return found


def stratify(
    trainer: Trainer, chosen: Sequence[Candidate], seeds: Sequence[int]
) -> list[Candidate]:
    """Train each chosen configuration from several seeds, keeping what is trained.

    Lines 4 to 7 of Algorithm 1.

    Parameters
    ----------
    trainer : Trainer
        Trains them.
    chosen : sequence of Candidate
        Distinct configurations.
    seeds : sequence of int
        Seeds for each of them; the candidate's own counts as the first.

    Returns
    -------
    list of Candidate
        Those that succeeded, ``len(seeds)`` for each configuration at most.
    """
    kept = [c for c in chosen if c.seed is not None or _fixed_seed(c.estimator)]
    jobs = []
    for candidate in chosen:
        own = 1 if any(candidate is k for k in kept) else 0
        fresh = [seed for seed in seeds if seed != candidate.seed]
        jobs += [(candidate.params, seed) for seed in fresh[: len(seeds) - own]]
    return kept + [c for c in trainer.train(jobs) if c.prediction is not None]


def _ask(optimizer: Any, n: int) -> list[Any]:
    trials: list[Any] = []
    try:
        for _ in range(n):
            trials.append(optimizer.ask())
    except SpaceExhausted:
        pass
    return trials


def _loss(
    values: NDArray[Any], truth: NDArray[Any], score: Any, greater: bool, classes: Any
) -> float:
    if classes is None and truth.ndim == 1:
        values = values[:, :, 0]
    if not np.isfinite(values).all():
        return float("nan")  # tell() takes it for a failure
    objective, pool, _ = make_objective(values, truth, score, greater, labels=classes)
    return float(objective.refine(pool)[0])


def _fixed_seed(estimator: Any) -> bool:
    """Whether every ``random_state`` is a number, so that a refit is the same model."""
    params = estimator.get_params(deep=True)
    seeds = [v for k, v in params.items() if k.split("__")[-1] == "random_state"]
    return all(isinstance(value, int | np.integer) for value in seeds)
