# SPDX-License-Identifier: BSD-3-Clause
"""What self-tuning and hyper-batch ensembles share: bounds and distributions."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from accsmbo._sklearn_private import Interval, StrOptions
from accsmbo.ensembles._layers._distributions import (
    HyperparameterDistribution,
    LogUniform,
    SigmoidNormal,
)
from accsmbo.ensembles._neural import BaseNeuralEnsemble
from accsmbo.ensembles._training._hyperparameters import (
    Hyperparameters,
    tuned_strengths,
)
from accsmbo.ensembles._training._trainer import TrainingSettings

DISTRIBUTIONS = {"log_uniform": LogUniform, "sigmoid_normal": SigmoidNormal}


class BaseTunedEnsemble(BaseNeuralEnsemble):
    """A neural ensemble that tunes L2 strengths, dropout and label smoothing."""

    _parameter_constraints: dict = {
        **BaseNeuralEnsemble._parameter_constraints,
        "l2_bounds": ["array-like"],
        "dropout_bounds": ["array-like", None],
        "label_smoothing_bounds": ["array-like", None],
        "tuning": [StrOptions({"global", "layerwise"})],
        "distribution": [StrOptions(set(DISTRIBUTIONS))],
        "entropy_weight": [Interval(Real, 0, None, closed="left")],
        "warmup_epochs": [Interval(Integral, 0, None, closed="left")],
        "training_steps": [Interval(Integral, 1, None, closed="left")],
        "tuning_learning_rate": [Interval(Real, 0, None, closed="neither")],
        "embedding_units": [Interval(Integral, 0, None, closed="left")],
        "rank": [Interval(Integral, 1, None, closed="left"), None],
    }

    def _hyperparameters(self, n_layers: int) -> Hyperparameters:
        hyperparameters = Hyperparameters()
        hyperparameters.strengths = tuned_strengths(
            hyperparameters,
            n_layers,
            check_bounds("l2_bounds", self.l2_bounds),
            layerwise=self.tuning == "layerwise",
        )
        for name in ("dropout", "label_smoothing"):
            bounds = getattr(self, f"{name}_bounds")
            if bounds is not None:
                checked = check_bounds(f"{name}_bounds", bounds, below=1.0)
                setattr(hyperparameters, name, hyperparameters.tune(name, checked))
        return hyperparameters

    def _distribution(
        self, hyperparameters: Hyperparameters
    ) -> HyperparameterDistribution | None:
        low, high = np.array(hyperparameters.bounds).T
        return DISTRIBUTIONS[self.distribution](low, high)

    def _settings(self) -> TrainingSettings:
        return TrainingSettings(
            batch_size=self.batch_size,
            learning_rate=self.learning_rate_init,
            factor_learning_rate=getattr(self, "factor_learning_rate", 1.0),
            loss=self.loss,
            entropy_weight=self.entropy_weight,
            warmup_epochs=self.warmup_epochs,
            training_steps=self.training_steps,
            tuning_learning_rate=self.tuning_learning_rate,
        )


def check_bounds(
    name: str, bounds: Any, below: float | None = None
) -> tuple[float, float]:
    """Return bounds as two floats, or raise.

    Parameters
    ----------
    name : str
        Name of the parameter, for the message.
    bounds : tuple of float
        What the user gave.
    below : float or None, default=None
        Upper bounds must be smaller.

    Returns
    -------
    tuple of float
        Lower and upper bound.

    Raises
    ------
    ValueError
        If there are not two numbers with 0 < low < high.
    """
    limit = np.inf if below is None else below
    requirement = "(low, high) with 0 < low < high"
    if below is not None:
        requirement += f" < {below:g}"
    try:
        low, high = (float(value) for value in bounds)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be {requirement}, got {bounds!r}.") from None
    if not 0.0 < low < high < limit:
        hint = ""
        if 0.0 < high < low < limit:
            hint = f" Swap them: ({high:g}, {low:g})."
        elif min(low, high) <= 0.0:
            hint = " The logarithms of the bounds are learned: both must be positive."
        raise ValueError(f"{name} must be {requirement}, got {bounds!r}.{hint}")
    return low, high
