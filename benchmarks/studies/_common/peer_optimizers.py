# SPDX-License-Identifier: BSD-3-Clause
"""One adapter for each optimizer: a space, a function and a budget to values in order.

A space is a dict of name -> ("float", low, high, log), ("int", low, high, log) or
("cat", choices). Every peer runs with its own defaults; packages are imported where
they are used, so that a missing one costs only its own rows.
"""

import logging
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

Params = dict[str, Any]
Function = Callable[[Params], float]
Run = Callable[[dict[str, tuple], Function, int, int], None]


def accsmbo_space(space: dict[str, tuple]) -> dict[str, Any]:
    from accsmbo.space import Categorical, Integer, Real

    kinds = {"float": Real, "int": Integer}
    return {
        name: Categorical(spec[1])
        if spec[0] == "cat"
        else kinds[spec[0]](spec[1], spec[2], log=spec[3])
        for name, spec in space.items()
    }


def accsmbo(space: dict[str, tuple], f: Function, budget: int, seed: int) -> None:
    from accsmbo.optimizers import SMBO

    optimizer = SMBO(accsmbo_space(space), random_state=seed)
    for _ in range(budget):
        trial = optimizer.ask()
        optimizer.tell(trial, f(trial.params))


def random(space: dict[str, tuple], f: Function, budget: int, seed: int) -> None:
    from accsmbo.optimizers import RandomSearch

    optimizer = RandomSearch(accsmbo_space(space), random_state=seed)
    for _ in range(budget):
        trial = optimizer.ask()
        optimizer.tell(trial, f(trial.params))


def _optuna(sampler: str) -> Run:
    def run(space: dict[str, tuple], f: Function, budget: int, seed: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)

        def suggest(trial: Any, name: str, spec: tuple) -> Any:
            if spec[0] == "cat":
                return trial.suggest_categorical(name, spec[1])
            draw = trial.suggest_int if spec[0] == "int" else trial.suggest_float
            return draw(name, spec[1], spec[2], log=spec[3])

        study = optuna.create_study(
            sampler=getattr(optuna.samplers, sampler)(seed=seed)
        )
        study.optimize(
            lambda trial: f({k: suggest(trial, k, s) for k, s in space.items()}),
            n_trials=budget,
        )

    return run


def skopt(space: dict[str, tuple], f: Function, budget: int, seed: int) -> None:
    from skopt import Optimizer
    from skopt.space import Categorical, Integer, Real

    kinds = {"float": Real, "int": Integer}
    dimensions = [
        Categorical(spec[1])
        if spec[0] == "cat"
        else kinds[spec[0]](
            spec[1], spec[2], prior="log-uniform" if spec[3] else "uniform"
        )
        for spec in space.values()
    ]
    optimizer = Optimizer(dimensions, base_estimator="GP", random_state=seed)
    for _ in range(budget):
        x = optimizer.ask()
        plain = [v.item() if hasattr(v, "item") else v for v in x]
        optimizer.tell(x, f(dict(zip(space, plain, strict=True))))


def _smac(facade: str) -> Run:
    def run(space: dict[str, tuple], f: Function, budget: int, seed: int) -> None:
        import smac
        from ConfigSpace import Categorical, ConfigurationSpace, Float, Integer

        logging.disable(logging.CRITICAL)
        kinds = {"float": Float, "int": Integer}
        configurations = ConfigurationSpace(seed=seed)
        for name, spec in space.items():
            configurations.add(
                Categorical(name, [str(i) for i in range(len(spec[1]))])
                if spec[0] == "cat"
                else kinds[spec[0]](name, (spec[1], spec[2]), log=spec[3])
            )

        def target(config: Any, seed: int = 0) -> float:
            return f({k: _plain(s, config[k]) for k, s in space.items()})

        with tempfile.TemporaryDirectory() as folder:
            scenario = smac.Scenario(
                configurations,
                n_trials=budget,
                seed=seed,
                deterministic=True,
                output_directory=folder,
            )
            getattr(smac, facade)(
                scenario, target, overwrite=True, logging_level=50
            ).optimize()

    return run


def _plain(spec: tuple, value: Any) -> Any:
    if spec[0] == "cat":
        return spec[1][int(value)]
    return int(value) if spec[0] == "int" else float(value)


def hebo(space: dict[str, tuple], f: Function, budget: int, seed: int) -> None:
    import torch
    from hebo.design_space.design_space import DesignSpace
    from hebo.optimizers.hebo import HEBO

    np.random.seed(seed)  # noqa: NPY002 - HEBO draws from the global generator
    torch.manual_seed(seed)
    torch.set_num_threads(1)

    def parse(name: str, spec: tuple) -> dict[str, Any]:
        if spec[0] == "cat":
            labels = [str(i) for i in range(len(spec[1]))]
            return {"name": name, "type": "cat", "categories": labels}
        kind = {
            ("float", False): "num",
            ("float", True): "pow",
            ("int", False): "int",
            ("int", True): "pow_int",
        }[spec[0], spec[3]]
        base = {"base": 10} if spec[3] else {}
        return {"name": name, "type": kind, "lb": spec[1], "ub": spec[2], **base}

    design = DesignSpace().parse([parse(k, s) for k, s in space.items()])
    optimizer = HEBO(design, scramble_seed=seed)
    for _ in range(budget):
        suggestion = optimizer.suggest(1)
        row = suggestion.iloc[0]
        value = f({k: _plain(s, row[k]) for k, s in space.items()})
        optimizer.observe(suggestion, np.array([[value]]))


PEERS: dict[str, Run] = {
    "accsmbo": accsmbo,
    "random": random,
    "optuna_tpe": _optuna("TPESampler"),
    "optuna_gp": _optuna("GPSampler"),
    "skopt": skopt,
    "smac_rf": _smac("HyperparameterOptimizationFacade"),
    "smac_gp": _smac("BlackBoxFacade"),
    "hebo": hebo,
}
PACKAGES = {
    "optuna_tpe": "optuna",
    "optuna_gp": "optuna",
    "skopt": "scikit-optimize",
    "smac_rf": "smac",
    "smac_gp": "smac",
    "hebo": "HEBO",
    "liblinear-official": "liblinear-official",
}
