# SPDX-License-Identifier: BSD-3-Clause
"""Bad input: each error names the argument, the requirement, what came, the remedy."""

import re

import numpy as np
import pytest
from scipy import stats
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from accsmbo import Categorical, Integer, Real, SMBOSearchCV, minimize
from accsmbo.optimizers import SMBO
from tests._searches import (
    MODEL_BASED,
    SAMPLING,
    SEARCHES,
    Recorder,
    make_search,
    small_data,
)


def fit(cls, estimator, space, **kwargs):
    kwargs = {"cv": 2, "n_iter": 2} | kwargs
    return make_search(cls, estimator, space, **kwargs).fit(*small_data())


def in_order(*parts):
    """Pattern of texts that follow one another."""
    return "(?s)" + ".*".join(map(re.escape, parts))


# space, type of the error, parts of its message
SPACES = {
    "empty list": (
        [],
        ValueError,
        ["search space", "at least one parameter", "got []", "Add one"],
    ),
    "no choices": (
        {"C": []},
        ValueError,
        ["'C'", "non-empty sequence", "got: []", "List the values to try"],
    ),
    "no choices in an array": (
        {"C": np.array([])},
        ValueError,
        ["'C'", "non-empty sequence", "got: ", "List the values to try"],
    ),
    "a number": (
        {"C": 1.0},
        TypeError,
        ["'C'", "needs to be a list", "got 1.0 (of type float)", "Write [1.0]"],
    ),
    "a string": (
        {"C": "l2"},
        TypeError,
        ["'C'", "needs to be a list", "got 'l2' (of type str)", "Write ['l2']"],
    ),
    "bytes": (
        {"C": b"l2"},
        TypeError,
        ["'C'", "needs to be a list", "got b'l2' (of type bytes)", "Write [b'l2']"],
    ),
    "None": (
        {"C": None},
        TypeError,
        ["'C'", "needs to be a list", "got None", "Write [None]"],
    ),
    "a dict": (
        {"C": {"a": 1}},
        TypeError,
        ["'C'", "needs to be a list", "got {'a': 1}", "list with one element"],
    ),
    "a matrix": (
        {"C": np.eye(2)},
        ValueError,
        ["'C'", "one-dimensional", "shape (2, 2)", "Flatten it"],
    ),
    "a name that is no string": (
        {1: [1]},
        TypeError,
        ["parameter names must be strings", "got 1", "get_params()"],
    ),
    "a list of lists": (
        [["C", 1]],
        TypeError,
        ["dict", "got", "Write it as"],
    ),
}


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.parametrize("name", SPACES)
def test_a_space_that_cannot_be_searched(cls, name):
    space, kind, parts = SPACES[name]
    with pytest.raises(kind, match=in_order(*parts)):
        fit(cls, LogisticRegression(), space)


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.parametrize("space", ["C", {"C", "D"}, 3])
def test_a_space_of_the_wrong_type(cls, space):
    message = in_order("The 'param_", f"' parameter of {cls.__name__} must be", "Got ")
    with pytest.raises(ValueError, match=message):
        fit(cls, LogisticRegression(), space)


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.parametrize(
    ("name", "closest"), [("Cc", "'C'"), ("fit_interceptt", "'fit_intercept'")]
)
def test_an_unknown_parameter_is_named_with_the_closest_ones(cls, name, closest):
    message = in_order(
        f"Invalid parameter '{name}' for estimator LogisticRegression()",
        f"Did you mean {closest}",
        "Valid parameters are: ['C', 'class_weight'",
        "Rename it",
    )
    with pytest.raises(ValueError, match=message):
        fit(cls, LogisticRegression(), {name: [1, 2]})


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: Real(2, 1), ["low", "exceed high", "low=2, high=1", "Real(1, 2)"]),
        (lambda: Integer(5, 1), ["low", "high", "low=5, high=1", "Integer(1, 5)"]),
        (
            lambda: Real(0, 1, log=True),
            [
                "low must be > 0 with log=True",
                "got low=0",
                "Raise low or set log=False",
            ],
        ),
        (
            lambda: Integer(-1, 5, log=True),
            ["low must be > 0 with log=True", "got low=-1", "Raise low"],
        ),
        (lambda: Real(np.nan, 1), ["low must be finite", "got nan", "Give a finite"]),
        (lambda: Real(0, np.inf), ["high must be finite", "got inf", "Give a finite"]),
        (lambda: Categorical([]), ["choices", "at least one", "got an empty", "List"]),
    ],
)
def test_bounds_and_choices(make, parts):
    with pytest.raises(ValueError, match=in_order(*parts)):
        make()


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: Real("a", 1), ["low must be a real number", "got 'a'", "Give"]),
        (lambda: Real(0, None), ["high must be a real number", "got None", "Give"]),
        (lambda: Integer(1.5, 3), ["low must be an integer", "got 1.5", "whole"]),
        (lambda: Integer(True, 3), ["low must be an integer", "got True", "whole"]),
        (lambda: Categorical("abc"), ["choices", "sequence", "got 'abc'", "['abc']"]),
        (lambda: Categorical(3), ["choices", "sequence", "got 3", "[3]"]),
    ],
)
def test_types_of_bounds_and_choices(make, parts):
    with pytest.raises(TypeError, match=in_order(*parts)):
        make()


@pytest.mark.parametrize("cls", SAMPLING)
@pytest.mark.parametrize(
    "distribution",
    [
        stats.uniform(1, -1),
        stats.randint(5, 1),
        stats.loguniform(10, 1),
        stats.norm(0, -1),
    ],
    ids=["uniform", "randint", "loguniform", "norm"],
)
def test_a_distribution_without_support(cls, distribution):
    message = in_order("'C'", "distribution", "got", "Check its arguments")
    with pytest.raises(ValueError, match=message):
        fit(cls, LogisticRegression(), {"C": distribution})


@pytest.mark.parametrize("cls", SAMPLING)
def test_a_distribution_that_is_not_frozen(cls):
    message = in_order("'C'", "frozen", "got", "loguniform", "arguments")
    with pytest.raises(TypeError, match=message):
        fit(cls, LogisticRegression(), {"C": stats.loguniform})


@pytest.mark.parametrize("cls", SAMPLING)
@pytest.mark.parametrize("n_iter", [0, -1, 1.5, "3", None])
def test_n_iter_is_at_least_one(cls, n_iter):
    message = in_order(
        f"The 'n_iter' parameter of {cls.__name__} must be",
        "an int in the range [1, inf)",
        f"Got {n_iter!r} instead",
    )
    with pytest.raises(ValueError, match=message):
        fit(cls, LogisticRegression(), {"C": [1]}, n_iter=n_iter)


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("timeout", 0),
        ("on_interrupt", "never"),
        ("verbose", -1),
        ("callbacks", 3),
        ("error_score", "nan"),
        ("refit", 3),
        ("n_jobs", "all"),
        ("cv", "five"),
        ("return_train_score", "yes"),
        ("scoring", "acuracy"),
    ],
)
def test_arguments_of_the_constructor(cls, name, value):
    message = in_order(
        f"The '{name}' parameter of {cls.__name__} must be", "Got", "inst"
    )
    with pytest.raises(ValueError, match=message):
        fit(cls, LogisticRegression(), {"C": [1, 2]}, **{name: value})


@pytest.mark.parametrize("cls", MODEL_BASED)
@pytest.mark.parametrize("optimizer", ["SMBO", SMBO, 3])
def test_an_optimizer_is_an_instance(cls, optimizer):
    message = in_order("The 'optimizer' parameter", "must be an instance", "Got")
    with pytest.raises(ValueError, match=message):
        fit(cls, LogisticRegression(), {"C": [1]}, optimizer=optimizer)


@pytest.mark.parametrize("cls", SEARCHES)
def test_an_unfitted_search_says_to_call_fit(cls):
    X, y = small_data()
    search = make_search(cls, LogisticRegression(), {"C": [1, 2]})
    for method in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(NotFittedError, match=r"not fitted yet\. Call 'fit'"):
            getattr(search, method)(X)
    with pytest.raises(NotFittedError, match=r"not fitted yet\. Call 'fit'"):
        search.score(X, y)
    with pytest.raises(NotFittedError, match=in_order("refit_best", "Call fit first")):
        search.refit_best(X, y)


class Fails(Recorder):
    def fit(self, X, y=None):
        raise RuntimeError(f"no fit with a={self.a}")


@pytest.mark.parametrize("cls", SEARCHES)
def test_all_candidates_failing_shows_the_first_real_error(cls):
    message = in_order(
        "All the 4 fits failed",
        "error_score='raise'",
        "RuntimeError: no fit with a=1",
    )
    with pytest.raises(ValueError, match=message):
        fit(cls, Fails(), {"a": [1, 2]})
    with pytest.raises(RuntimeError, match="no fit with a=1"):
        fit(cls, Fails(), {"a": [1, 2]}, error_score="raise")


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_non_finite_data_are_refused_by_the_estimator(cls, value):
    X, y = small_data()
    X = X.copy()
    X[0, 0] = X[-1, 0] = value
    search = make_search(cls, SVC(), {"C": [1, 2]}, cv=2, n_iter=2)
    what = "NaN" if np.isnan(value) else "infinity"
    with pytest.raises(ValueError, match=f"Input X contains {what}"):
        search.fit(X, y)


def raising(estimator, X, y):
    raise ArithmeticError("the scorer broke")


@pytest.mark.parametrize("cls", SEARCHES)
def test_a_scorer_that_raises_is_shown(cls):
    with pytest.raises(ArithmeticError, match="the scorer broke"):
        fit(
            cls,
            LogisticRegression(),
            {"C": [1, 2]},
            scoring=raising,
            error_score="raise",
        )


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.filterwarnings("ignore:Scoring failed", "ignore:One or more of the test")
def test_a_scorer_that_always_raises_is_said_with_its_error(cls):
    with pytest.warns(UserWarning, match=r"(?s)Scoring failed.*the scorer broke"):
        fit(cls, LogisticRegression(), {"C": [1, 2]}, scoring=raising)


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.parametrize("score", ["high", None, np.ones(2)])
def test_a_scorer_that_returns_no_number(cls, score):
    message = in_order("scoring must return a number", "got")
    with pytest.raises(ValueError, match=message):
        fit(cls, LogisticRegression(), {"C": [1, 2]}, scoring=lambda e, X, y: score)


@pytest.mark.parametrize("cls", SEARCHES)
def test_refit_that_names_no_metric(cls):
    message = in_order("refit must be set to a scorer key", "'f1' was passed")
    with pytest.raises(ValueError, match=message):
        fit(
            cls,
            LogisticRegression(),
            {"C": [1, 2]},
            scoring=["accuracy"],
            refit="f1",
        )


@pytest.mark.parametrize("cls", SEARCHES)
def test_a_timeout_too_short_for_one_candidate(cls):
    message = in_order("timeout must leave time", "got 1e-09", "Raise timeout")
    with pytest.raises(ValueError, match=message):
        fit(cls, LogisticRegression(), {"C": [1, 2]}, timeout=1e-9)


@pytest.mark.parametrize("cls", MODEL_BASED)
def test_no_space_for_an_unknown_estimator(cls):
    message = in_order("param_distributions", "Recorder", "Pass param_distributions")
    with pytest.raises(ValueError, match=message):
        fit(cls, Recorder(), None)


def told():
    optimizer = SMBO({"x": Real(0, 1)}, random_state=0)
    return optimizer, optimizer.ask()


@pytest.mark.parametrize(
    "arguments", [{}, {"value": 1.0, "error": "failed"}], ids=["neither", "both"]
)
def test_tell_needs_one_of_value_and_error(arguments):
    optimizer, trial = told()
    message = in_order("exactly one of value and error", "got value=", "Give the loss")
    with pytest.raises(ValueError, match=message):
        optimizer.tell(trial, **arguments)


def test_tell_of_a_trial_that_is_not_pending():
    optimizer, trial = told()
    optimizer.tell(trial, 1.0)
    message = in_order("trial must be pending", "got trial number 0", "Tell each trial")
    with pytest.raises(ValueError, match=message):
        optimizer.tell(trial, 2.0)


def test_tell_of_a_gradient_with_an_unknown_name():
    optimizer, trial = told()
    message = in_order("gradient has the unknown name 'z'", "['x']", "Use the names")
    with pytest.raises(ValueError, match=message):
        optimizer.tell(trial, 1.0, {"z": 0.5})


def test_ask_without_a_space():
    message = in_order("space must be given", "got None", "Pass it")
    with pytest.raises(ValueError, match=message):
        SMBO().ask()


def test_points_outside_the_space():
    space = {"x": Real(0, 1)}
    message = in_order("params['x'] must be a value of Real", "got 2", "Change")
    with pytest.raises(ValueError, match=message):
        SMBO(space, points_to_evaluate=[{"x": 2}]).ask()


def test_minimize_needs_a_function_and_a_budget():
    message = in_order("func must be callable", "got 3", "Give a function")
    with pytest.raises(TypeError, match=message):
        minimize(3, {"x": [1]})
    message = in_order("n_trials must be an integer >= 1", "got 0", "Give a number")
    with pytest.raises(ValueError, match=message):
        minimize(abs, {"x": [1]}, n_trials=0)


@pytest.mark.parametrize(
    ("func", "first"),
    [
        (lambda params: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda params: None, "None"),
        (lambda params: "low", "'low'"),
        (lambda params: np.nan, "nan"),
    ],
    ids=["raises", "None", "text", "nan"],
)
def test_minimize_shows_the_first_reason_where_all_calls_failed(func, first):
    message = in_order("func must return a finite loss", "all 2 calls failed", first)
    with pytest.raises(ValueError, match=message):
        minimize(func, {"x": [1, 2]}, n_trials=2)


def test_a_message_is_shown_before_any_fit():
    log = []
    search = SMBOSearchCV(Recorder(value=log.append), {"wrong": [1, 2]}, n_iter=2)
    with pytest.raises(ValueError, match="Invalid parameter 'wrong'"):
        search.fit(*small_data())
    assert not log
