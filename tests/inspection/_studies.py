# SPDX-License-Identifier: BSD-3-Clause
"""Histories that are hard to draw: long names, many kinds, failures, alternatives."""

from scipy.stats import norm

from accsmbo.history import Evaluation, Span
from accsmbo.optimizers import RandomSearch
from accsmbo.space import Categorical, Integer, Real

LONG = "columntransformer__numeric__simpleimputer__add_indicator_strategy_of_columns"
HARD_SPACE = [
    {
        "classifier__learning_rate": Real(1e-6, 10.0, log=True),
        LONG: Categorical(["mean", "most_frequent_value_of_the_column", None, True]),
        "max_leaf_nodes": Integer(2, 4096, log=True),
        "$x_1^2$ <b>&amp;": Real(-1e-3, 1e-3),
        "n_layers": Integer(1, 3),
        "shift": norm(0, 3),
        "kind": ["trees"],
    },
    {"kind": ["linear", "kernel"], "C": Real(1e-3, 1e3, log=True)},
]


def quadratic(params):
    """Return a loss with a minimum inside every alternative."""
    if "C" in params:
        return (params["C"] - 1.0) ** 2 / (1 + params["C"] ** 2) + 0.5
    return (
        (params["n_layers"] - 2) ** 2
        + 0.3 * (params[LONG] is not None)
        + 1e6 * params["$x_1^2$ <b>&amp;"] ** 2
        + 0.01 * params["shift"] ** 2
    )


def run_random(space, loss, n, seed=0, fails=lambda params: False):
    """Search a loss at random, with one span a trial on two workers."""
    optimizer = RandomSearch(space, random_state=seed)
    for i in range(n):
        trial = optimizer.ask()
        spans = (Span(i % 2, float(i), i + 1.5),)
        times = {"start_time": float(i), "end_time": i + 1.5, "spans": spans}
        if fails(trial.params):
            error = (
                "Traceback (most recent call last):\nValueError: <script>no</script>"
            )
            evaluation = Evaluation(error=error, **times)
        else:
            evaluation = Evaluation(value=loss(trial.params), **times)
        optimizer.tell(trial, evaluation)
    return optimizer.history


def hard_history(n=60):
    """Return long names, mathematics and markup in them, all axes, failures."""
    return run_random(HARD_SPACE, quadratic, n, fails=lambda p: p.get("C", 0) > 100)
