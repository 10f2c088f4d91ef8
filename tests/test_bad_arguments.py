# SPDX-License-Identifier: BSD-3-Clause
"""One wrong argument at a time: an error that names it, or an ordinary end."""

import contextlib
import signal
import warnings

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError

from accsmbo import (
    Real,
    Space,
    minimize,
)
from accsmbo.acquisition import (
    ExpectedImprovement,
    LogExpectedImprovement,
    LowerConfidenceBound,
    MetaAcquisition,
    ProbabilityOfImprovement,
    maximize_acquisition,
)
from accsmbo.exceptions import SpaceExhausted
from accsmbo.execution import TwoStacks
from accsmbo.metalearning import PriorDensity
from accsmbo.optimizers import (
    HOAG,
    SMBO,
    AccSMBO,
    GridSearch,
    LocalFirst,
    RandomSearch,
)
from accsmbo.report import describe
from accsmbo.stopping import ExpectedImprovementBelow, NoImprovement, TargetReached
from accsmbo.surrogates import (
    DerivativeGaussianProcess,
    GaussianProcess,
)

SPACE = {"x": Real(-1.0, 2.0), "y": Real(-1.0, 2.0)}
U = np.random.default_rng(0).random((8, 2))
Y = (U**2).sum(axis=1)
DATA = make_classification(40, n_features=4, random_state=0)
# A call that takes longer hangs.
SECONDS = 10


class Unshown:
    """Cannot show itself."""

    def __repr__(self):
        raise RuntimeError("no words")


WRONG = {
    "None": None,
    "True": True,
    "-1": -1,
    "0": 0,
    "1.5": 1.5,
    "nan": float("nan"),
    "inf": float("inf"),
    "10**30": 10**30,
    "'x'": "x",
    "b'x'": b"x",
    "[]": [],
    "{}": {},
    "set()": set(),
    "[None]": [None],
    "a class": int,
    "object()": object(),
    "a lambda": lambda *args, **kwargs: None,
    "a wrong shape": np.zeros((2, 3, 4)),
    "unshown": Unshown(),
}


def bowl(params):
    x, y = params["x"], params["y"]
    return 1.0 + x**2 + y**2, {"x": 2 * x, "y": 2 * y}


def use_optimizer(optimizer_class, **arguments):
    optimizer = optimizer_class(**{"space": SPACE, "random_state": 0} | arguments)
    with contextlib.suppress(SpaceExhausted):
        for _ in range(6):
            trial = optimizer.ask()
            optimizer.tell(trial, *bowl(trial.params))
        if optimizer.adaptive:
            optimizer.propose(1)


def use_surrogate(surrogate_class, **arguments):
    data = {"U": U, "y": Y, "categorical": None, "noise": None, "gradient": 2 * U}
    told = {name: arguments.pop(name) for name in list(arguments) if name in data}
    if not hasattr(surrogate_class, "_learn") or surrogate_class is GaussianProcess:
        data.pop("gradient") if "gradient" not in told else None
    model = surrogate_class(**arguments).fit(**data | told)
    model.predict(U)
    model.predict_gradient(U)
    model.condition(U[:1] / 2, Y[:1])


def use_acquisition(acquisition_class, **arguments):
    maximize(acquisition=acquisition_class(**arguments))


def maximize(**arguments):
    given = {
        "acquisition": ExpectedImprovement(),
        "subspace": Space(SPACE).subspaces[0],
        "surrogate": GaussianProcess().fit(U, Y),
        "best": 0.1,
        "seen": U,
    }
    maximize_acquisition(**given | arguments)


def use_meta(**arguments):
    prior = PriorDensity({"x": norm(0, 1)}).on(SPACE)
    given = {"acquisition": ExpectedImprovement(), "density": prior}
    maximize(acquisition=MetaAcquisition(**given | arguments))


def use_method(name, **arguments):
    optimizer = SMBO(SPACE, random_state=0)
    trial = optimizer.ask()
    if name == "tell":
        arguments = {"trial": trial, "value": 1.0} | arguments
        if arguments.get("error") is not None:
            arguments["value"] = None
    getattr(optimizer, name)(**arguments)


def use_local_first(**arguments):
    use_optimizer(AccSMBO, local_first=LocalFirst(**arguments))


def use_prior(**arguments):
    given = {"distributions": {"x": norm(0, 1)}}
    use_optimizer(AccSMBO, density=PriorDensity(**given | arguments))


def use_minimize(**arguments):
    given = {"func": bowl, "space": SPACE, "n_trials": 3, "random_state": 0}
    minimize(**given | arguments)


def use_two_stacks(**arguments):
    use_minimize(scheduler=TwoStacks(**arguments))


def use_condition(condition_class, **arguments):
    given = {"n_trials": 2} if condition_class is NoImprovement else {}
    use_minimize(stop_when=condition_class(**given | arguments))


HISTORY = minimize(bowl, SPACE, n_trials=4, random_state=0)


def use_describe(**arguments):
    describe(**{"history": HISTORY} | arguments)


def calls(function, names, *args):
    return [(function, args, name) for name in names.split()]


CALLS = [
    *calls(use_optimizer, "points_to_evaluate", RandomSearch),
    *calls(use_optimizer, "points_to_evaluate", GridSearch),
    *calls(use_optimizer, "surrogate acquisition initial_design", SMBO),
    *calls(use_optimizer, "surrogate acquisition density rate", AccSMBO),
    *calls(use_optimizer, "local_first initial_tolerance tolerance", AccSMBO),
    *calls(use_optimizer, "initial_design", AccSMBO),
    *calls(use_optimizer, "n_restarts tolerance initial_tolerance", HOAG),
    *calls(use_method, "trial value gradient noise", "tell"),
    *calls(use_method, "n", "propose"),
    *calls(use_method, "proposal", "accept"),
    *calls(use_method, "trial", "restore"),
    *calls(use_method, "trial", "forget"),
    *calls(use_local_first, "radius max_radius min_radius first_step"),
    *calls(use_local_first, "every patience tolerance apart"),
    *calls(use_surrogate, "U y categorical noise kernel", GaussianProcess),
    *calls(use_surrogate, "hyperparameters priors mean_variance", GaussianProcess),
    *calls(use_surrogate, "max_iter refit_growth max_fit_points", GaussianProcess),
    *calls(use_surrogate, "U y categorical noise gradient", DerivativeGaussianProcess),
    *calls(use_surrogate, "hyperparameters priors", DerivativeGaussianProcess),
    *calls(use_surrogate, "max_size max_iter", DerivativeGaussianProcess),
    *calls(use_acquisition, "margin", ExpectedImprovement),
    *calls(use_acquisition, "margin", LogExpectedImprovement),
    *calls(use_acquisition, "margin", ProbabilityOfImprovement),
    *calls(use_acquisition, "kappa", LowerConfidenceBound),
    *calls(use_meta, "rate fade strength"),
    *calls(maximize, "acquisition subspace rng n_local"),
    *calls(use_prior, "distributions floor"),
    *calls(use_minimize, "func optimizer n_trials n_jobs"),
    *calls(use_minimize, "scheduler max_retries"),
    *calls(use_two_stacks, "density rate time_constant n_candidates"),
    *calls(use_condition, "n_trials tolerance", NoImprovement),
    *calls(use_condition, "tolerance", ExpectedImprovementBelow),
    *calls(use_condition, "value", TargetReached),
    *calls(use_describe, "title"),
]
# Right where they are harmless, and then endless by what they ask for.
ENDLESS = {("n_trials", "10**30"), ("n_iter", "10**30"), ("n", "10**30")}


def label(call):
    function, args, name = call
    return "-".join(
        [function.__name__, *(getattr(a, "__name__", str(a)) for a in args), name]
    )


def overdue(signum, frame):
    raise TimeoutError("the call hangs")


def fault_of(call, value):
    """Return what is wrong with how a call takes a value; None: nothing."""
    function, args, name = call
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*args, **{name: value})
    except (TypeError, ValueError, NotFittedError, ImportError, OSError) as error:
        if isinstance(error, (np.linalg.LinAlgError, TimeoutError)):
            return f"{type(error).__name__}: {error}"
        named = name in str(error)
        return None if named else f"{type(error).__name__} without {name}: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
    return None


@pytest.mark.skipif(not hasattr(signal, "alarm"), reason="no alarm on this platform")
@pytest.mark.parametrize("call", CALLS, ids=label)
def test_a_wrong_argument_is_named_or_harmless(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    signal.signal(signal.SIGALRM, overdue)
    faults = {
        kind: fault_of(call, value)
        for kind, value in WRONG.items()
        if (call[2], kind) not in ENDLESS
    }
    assert {kind: fault for kind, fault in faults.items() if fault} == {}
