# SPDX-License-Identifier: BSD-3-Clause
"""check_optimizer: what every optimizer must do, for people who write one."""

import warnings
from typing import Any

from sklearn.base import clone

from accsmbo.exceptions import SpaceExhausted
from accsmbo.space import Categorical, Integer, Real

__all__ = ["check_optimizer"]

SPACE = {
    "x": Real(-1.0, 2.0),
    "c": Real(1e-3, 1e3, log=True),
    "depth": Integer(1, 9),
    "kind": Categorical(["a", "b", None]),
}
N_TRIALS = 14


def _loss(params: dict[str, Any]) -> float:
    kind = {"a": 0.0, "b": 0.3, None: 1.0}[params["kind"]]
    return float((params["x"] - 0.4) ** 2 + 0.1 * (params["depth"] - 4) ** 2 + kind)


def _check(condition: object, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _with_space(optimizer: Any, space: Any, seed: int = 0) -> Any:
    return clone(optimizer).set_params(space=space, random_state=seed)


def _run(optimizer: Any, n: int, loss: Any = _loss) -> list[dict[str, Any]]:
    asked = []
    for _ in range(n):
        trial = optimizer.ask()
        asked.append(trial.params)
        optimizer.tell(trial, loss(trial.params))
    return asked


def _check_values(optimizer: Any) -> None:
    for params in _run(_with_space(optimizer, SPACE), N_TRIALS):
        _check(set(params) == set(SPACE), f"params must name {list(SPACE)}")
        _check(-1.0 <= params["x"] <= 2.0, "x must lie in its bounds")
        _check(1e-3 <= params["c"] <= 1e3, "c must lie in its bounds")
        _check(type(params["depth"]) is int, "integers must be plain int")
        _check(params["kind"] in ("a", "b", None), "choices must be the user's own")


def _check_seed(optimizer: Any) -> None:
    runs = [_run(_with_space(optimizer, SPACE, s), N_TRIALS) for s in (0, 0)]
    _check(runs[0] == runs[1], "the same random_state must give the same run")


def _check_pending(optimizer: Any) -> None:
    asking = _with_space(optimizer, SPACE)
    trials = [asking.ask() for _ in range(N_TRIALS)]
    points = {t.unit.tobytes() for t in trials}
    _check(len(points) == N_TRIALS, "points asked in a row must be distinct")
    for trial in reversed(trials):
        asking.tell(trial, _loss(trial.params))
    asking.ask()


def _check_failures(optimizer: Any) -> None:
    failing = _with_space(optimizer, SPACE)
    for number in range(N_TRIALS):
        trial = failing.ask()
        if number % 3 == 1:
            failing.tell(trial, _loss(trial.params))
        else:
            failing.tell(trial, error="no luck")
    hopeless = _with_space(optimizer, SPACE)
    for _ in range(N_TRIALS):
        hopeless.tell(hopeless.ask(), error="no luck")


def _check_flat(optimizer: Any) -> None:
    points = _run(_with_space(optimizer, {"x": Real(0, 1)}), N_TRIALS, lambda _: 1.0)
    _check(
        len({p["x"] for p in points}) == N_TRIALS,
        "a flat objective must still be explored without repetition",
    )


def _check_exhaustion(optimizer: Any) -> None:
    space = {"a": [1, 2], "b": Categorical(["x", "y"])}
    small = _with_space(optimizer, space)
    seen = {tuple(p.items()) for p in _run(small, 4, lambda p: float(p["a"]))}
    _check(len(seen) == 4, "a finite space must be used up without repetition")
    try:
        small.ask()
    except SpaceExhausted:
        return
    raise AssertionError("ask must raise SpaceExhausted once a finite space is used up")


def check_optimizer(optimizer: Any) -> None:
    """Raise unless an optimizer keeps the ask/tell contract.

    Checked are: values within bounds and of the user's own types; the same seed, the
    same run; distinct points when several are pending, told in any order; failed
    trials; a flat objective; exhaustion of a finite space; and that none of this warns.

    Parameters
    ----------
    optimizer : Optimizer
        An instance; clones of it are used, with other spaces.

    Raises
    ------
    AssertionError
        Saying what was required.

    Examples
    --------
    >>> from accsmbo.optimizers import RandomSearch
    >>> from accsmbo.testing import check_optimizer
    >>> check_optimizer(RandomSearch())
    """
    checks = (
        _check_values,
        _check_seed,
        _check_pending,
        _check_failures,
        _check_flat,
        _check_exhaustion,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for check in checks:
            check(optimizer)
