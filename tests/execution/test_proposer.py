# SPDX-License-Identifier: BSD-3-Clause
"""Proposing in a thread beside the loop: when, with what, and what comes back."""

import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from threadpoolctl import threadpool_info

from accsmbo import Real, minimize
from accsmbo.execution import OneStack, StopReason, TwoStacks, run
from accsmbo.execution._minimize import _FunctionObjective
from accsmbo.optimizers import HOAG, SMBO, RandomSearch
from accsmbo.optimizers._observations import Proposal
from tests.execution._functions import SPACE, loss

THREAD = "accsmbo-proposer"
SCHEDULERS = [OneStack, TwoStacks]


class Slow(SMBO):
    """Takes long against a trial; notes how it proposes, or does something there."""

    def _propose(self, observations, rng):
        beside = threading.current_thread().name.startswith(THREAD)
        self.calls = [*getattr(self, "calls", ()), (beside, len(observations.y))]
        if beside:
            self.beside()
        time.sleep(0.01)
        return super()._propose(observations, rng)

    def beside(self):
        pass


def naps(params):
    time.sleep(0.02)
    return loss(params)


def search(optimizer, scheduler, n_trials=30, **kwargs):
    optimizer.set_params(space=SPACE, random_state=0)
    with ThreadPoolExecutor(3) as pool:
        run(
            optimizer,
            _FunctionObjective(naps),
            n_trials=n_trials,
            executor=pool,
            scheduler=scheduler,
            **kwargs,
        )
    return optimizer.history


def n_threads():
    return [(i["filepath"], i["num_threads"]) for i in threadpool_info()]


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_slow_optimizer_proposes_beside_the_loop(scheduler):
    optimizer, before = Slow(), n_threads()
    history = search(optimizer, scheduler())
    assert sorted(t.number for t in history.trials) == list(range(30))
    assert len({t.unit.tobytes() for t in history.trials}) == 30
    beside = [n for is_beside, n in optimizer.calls if is_beside]
    assert len(beside) >= 2
    assert beside[-1] > 8
    assert history.best_value < 0.5
    assert not [t for t in threading.enumerate() if t.name.startswith(THREAD)]
    assert n_threads() == before


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize(
    "kwargs", [{"deterministic": True}, {}], ids=["deterministic", "one worker"]
)
def test_where_order_alone_decides_the_loop_proposes(scheduler, kwargs):
    optimizer = Slow(SPACE, random_state=0)
    if kwargs:
        search(optimizer, scheduler(), n_trials=10, **kwargs)
    else:
        run(optimizer, _FunctionObjective(naps), n_trials=10, scheduler=scheduler())
    assert not any(beside for beside, _ in optimizer.calls)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_an_exception_of_the_optimizer_reaches_the_caller(scheduler):
    class Fails(Slow):
        def beside(self):
            raise ZeroDivisionError("in the optimizer")

    with pytest.raises(ZeroDivisionError, match="in the optimizer"):
        search(Fails(), scheduler())
    assert not [t for t in threading.enumerate() if t.name.startswith(THREAD)]


def test_the_configuration_and_numpy_errors_reach_the_thread():
    seen = []

    class Notes(Slow):
        def beside(self):
            seen.append((sklearn.get_config()["working_memory"], np.geterr()["over"]))

    with sklearn.config_context(working_memory=77), np.errstate(over="raise"):
        search(Notes(), OneStack())
    assert set(seen) == {(77, "raise")}


@pytest.mark.parametrize("optimizer", [RandomSearch(), HOAG()], ids=["random", "HOAG"])
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_optimizers_with_their_own_way_of_asking_are_asked(optimizer, scheduler):
    started = scheduler()
    optimizer = clone(optimizer).set_params(space=SPACE)
    started.begin(optimizer, 4, steady=False)
    started.told(1e-6)
    started._proposer.seconds = 1.0
    assert not started._proposer.runs_beside
    reference = type(optimizer)(SPACE, random_state=optimizer.random_state)
    if optimizer.sequential:
        assert started.next(0).params == reference.ask().params


def begun(**kwargs):
    optimizer = SMBO({"x": Real(0.0, 1.0)}, random_state=0)
    for _ in range(6):
        trial = optimizer.ask()
        optimizer.tell(trial, trial.params["x"])
    stack = OneStack()
    stack.begin(optimizer, 4, steady=False)
    stack.told(0.1)
    stack._proposer.seconds = 1.0
    return stack, optimizer


def test_a_free_worker_gets_the_newest_proposal_and_no_stale_one():
    stack, optimizer = begun()
    stack.idle(10)
    stack._proposer.take(wait=True)
    stack._stack = [Proposal(np.array([x]), 0) for x in (0.9, 0.805, 0.8, 0.31)]
    stack._dirty = False
    assert stack.next(0).unit == 0.31
    assert stack.next(1).unit == 0.8
    # Near to what was started since it was proposed.
    assert stack.next(2).unit == 0.9
    assert [t.unit[0] for t in optimizer.pending] == [0.31, 0.8, 0.9]


def test_proposals_know_what_is_told_and_pending_and_the_last_are_not_prepared():
    stack, optimizer = begun()
    pending = stack.next(0)
    known = optimizer.request(1).known[0][2]
    np.testing.assert_array_equal(known.pending, [pending.unit])
    stack.told(0.1)
    assert stack.idle(0) == np.inf
    assert not stack._proposer.is_busy
    stack.idle(1)
    stack.told(0.1)
    assert stack.idle(1) == stack._proposer.seconds or not stack._proposer.is_busy
    stack.rest()
    assert not stack._proposer.is_busy


def test_a_run_with_conditions_lets_them_use_the_optimizer_alone():
    class Alone:
        def should_stop(self, optimizer):
            names = [t.name for t in threading.enumerate()]
            assert not [name for name in names if name.startswith(THREAD)]
            return len(optimizer.history) >= 20

    optimizer = Slow()
    history = search(optimizer, OneStack(), stop_when=Alone())
    assert len(history) >= 20
    assert any(beside for beside, _ in optimizer.calls)


def test_several_subspaces_get_their_shares():
    space = [{"x": Real(0.0, 1.0)}, {"y": Real(0.0, 1.0)}]
    history = minimize(
        lambda p: time.sleep(0.001) or sum(v**2 for v in p.values()),
        space,
        n_trials=30,
        executor=ThreadPoolExecutor(3),
        random_state=0,
    )
    n_first = sum(t.subspace == 0 for t in history.trials)
    assert 12 <= n_first <= 18


def test_an_interrupt_ends_the_thread():
    numbers = itertools.count(1)

    def interrupted(params):
        number = next(numbers)
        time.sleep(0.02)
        if number == 15:
            raise KeyboardInterrupt
        return loss(params)

    optimizer = Slow(SPACE, random_state=0)
    with ThreadPoolExecutor(3) as pool:
        reason = run(
            optimizer, _FunctionObjective(interrupted), n_trials=60, executor=pool
        )
    assert reason is StopReason.INTERRUPTED
    assert 10 <= len(optimizer.history) < 20
    assert any(beside for beside, _ in optimizer.calls)
    assert not [t for t in threading.enumerate() if t.name.startswith(THREAD)]
