# SPDX-License-Identifier: BSD-3-Clause
"""TwoStacks: Value, shares of candidates and workers, newest first, no duplicates."""

import numpy as np
import pytest

from accsmbo import Real, minimize
from accsmbo.exceptions import SpaceExhausted
from accsmbo.execution import TwoStacks
from accsmbo.execution._two_stacks import MAX_AGE, MAX_ENTRIES, value
from accsmbo.optimizers import SMBO
from accsmbo.optimizers._observations import Proposal
from tests.execution._functions import SPACE, loss


class Density:
    """Dense where the first coordinate is large."""

    def pdf(self, U):
        return np.asarray(U)[:, 0] + 0.1


def told_optimizer(n=8, space=SPACE):
    optimizer = SMBO(space, random_state=0)
    for _ in range(n):
        trial = optimizer.ask()
        optimizer.tell(trial, sum(v**2 for v in trial.params.values()))
    return optimizer


def begun(n_slots=4, density=None, **kwargs):
    stacks = TwoStacks(density, **kwargs)
    optimizer = told_optimizer()
    stacks.begin(optimizer, n_slots, steady=False)
    stacks.told(1e9)
    return stacks, optimizer


def test_value_is_the_order_of_selection_without_a_density():
    np.testing.assert_array_equal(value(None, 1.0, 3), [3.0, 2.0, 1.0])
    np.testing.assert_array_equal(value(np.zeros(2), 1.0, 2), [2.0, 1.0])
    assert value(None, 1.0, 0).size == 0


def test_value_by_hand():
    density = np.array([0.2, 0.4, 0.1])
    # pri (1 - w + w p / max p), w = 0.5
    expected = [3 * (0.5 + 0.25), 2 * 1.0, 1 * (0.5 + 0.125)]
    np.testing.assert_allclose(value(density, 0.5, 3), expected)
    np.testing.assert_array_equal(value(density, 0.0, 3), [3.0, 2.0, 1.0])


@pytest.mark.parametrize(
    ("n_slots", "n_slow"), [(1, 0), (2, 0), (3, 1), (4, 1), (8, 2), (16, 4)]
)
def test_a_quarter_of_the_workers_is_slow(n_slots, n_slow):
    stacks, _ = begun(n_slots)
    assert sum(stacks.serves_slow_stack(i) for i in range(n_slots)) == n_slow


@pytest.mark.parametrize(("q", "n_slow"), [(10, 1), (20, 2), (4, 1), (26, 3)])
def test_the_lowest_tenth_goes_to_the_slow_stack(q, n_slow):
    stacks, _ = begun(n_candidates=q)
    stacks._update()
    assert len(stacks._slow) == n_slow
    assert len(stacks._fast) == q - n_slow


def test_without_slow_workers_all_go_to_the_fast_stack():
    stacks, _ = begun(n_slots=2)
    stacks._update()
    assert len(stacks._slow) == 0
    assert len(stacks._fast) == 10


def test_the_best_is_popped_first_and_the_slow_worker_gets_the_lowest():
    stacks, optimizer = begun()
    proposals = optimizer.propose(10)
    stacks._update()
    fast = stacks.next(0)
    slow = stacks.next(3)
    np.testing.assert_array_equal(fast.unit, proposals[0].unit)
    np.testing.assert_array_equal(slow.unit, proposals[-1].unit)


def test_the_density_moves_candidates_and_its_weight_fades():
    plain, _ = begun()
    dense, _ = begun(density=Density())
    faded, _ = begun(density=Density())
    faded._n_modelled = 10_000
    for stacks in (plain, dense, faded):
        stacks._update()
    order = [[tuple(e.proposal.unit) for e in s._fast] for s in (plain, dense, faded)]
    assert order[0] != order[1]
    assert order[0] == order[2]
    each, _ = begun(density=[Density()])
    each._update()
    assert [tuple(e.proposal.unit) for e in each._fast] == order[1]


def test_an_empty_stack_borrows_from_the_other():
    stacks, _ = begun()
    stacks._dirty = False
    stacks._update()
    n = len(stacks._fast) + len(stacks._slow)
    trials = [stacks.next(3) for _ in range(n)]
    assert stacks._n_updates == 1
    assert len({t.unit.tobytes() for t in trials}) == n


def test_stacks_are_bounded_and_stale_entries_dropped():
    stacks, _ = begun(n_candidates=30)
    for _ in range(MAX_AGE):
        stacks._update()
    assert len(stacks._fast) == MAX_ENTRIES
    newest = max(e.update for e in stacks._fast)
    while (entry := stacks._pop(stacks._fast)) is not None:
        assert newest - entry.update < MAX_AGE


def test_no_two_workers_get_near_equal_points():
    stacks, _ = begun()
    units = []
    for i in range(12):
        if i % 3 == 0:
            stacks.told(1e9)
        units.append(stacks.next(i % 4).unit)
    distance = np.abs(np.array(units)[:, None] - np.array(units)[None]).max(-1)
    assert distance[np.triu_indices(12, 1)].min() >= 0.01


def test_design_points_come_first():
    optimizer = SMBO(SPACE, random_state=0)
    stacks = TwoStacks()
    stacks.begin(optimizer, 4, steady=False)
    reference = SMBO(SPACE, random_state=0)
    for slot in range(4):
        assert stacks.next(slot).params == reference.ask().params


def test_a_finite_space_ends():
    optimizer = told_optimizer(3, {"x": [1, 2, 3, 4, 5, 6]})
    stacks = TwoStacks()
    stacks.begin(optimizer, 4, steady=False)
    for slot in range(3):
        stacks.next(slot)
    with pytest.raises(SpaceExhausted):
        stacks.next(0)


def test_at_least_three_candidates():
    with pytest.raises(ValueError, match="n_candidates must be an integer >= 3"):
        TwoStacks(n_candidates=2).begin(SMBO(SPACE), 4, steady=False)


def test_known_proposals_are_not_accepted():
    optimizer = told_optimizer()
    known = optimizer.history.trials[0]
    with pytest.raises(ValueError, match="a point that was not asked yet"):
        optimizer.accept(Proposal(known.unit, known.subspace))


def test_a_run_with_four_workers_gets_there():
    history = minimize(
        loss,
        SPACE,
        n_trials=40,
        executor=4,
        scheduler=TwoStacks(Density()),
        random_state=0,
    )
    assert len(history) == 40
    assert history.best_value < 0.1


def test_deterministic_two_stacks_repeat():
    def run():
        history = minimize(
            square,
            {"x": Real(-1, 2)},
            n_trials=14,
            executor=4,
            scheduler=TwoStacks(),
            deterministic=True,
            random_state=0,
        )
        return [(t.number, t.params["x"]) for t in history.trials]

    assert run() == run()


def square(params):
    return params["x"] ** 2
