# SPDX-License-Identifier: BSD-3-Clause
"""A gradient that cannot be told is one failed trial, not the end of a run."""

import pytest

from accsmbo import JournalStorage, Real, minimize
from accsmbo.optimizers import AccSMBO

WRONG = {
    "unknown name": {"z": 1.0},
    "no mapping": [1.0],
    "a name that is no string": {0: 1.0},
    "no number": {"x": "steep"},
    "None inside": {"x": None},
}


@pytest.mark.parametrize("gradient", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("stored", [False, True])
def test_a_wrong_gradient_fails_its_trial_alone(tmp_path, gradient, stored):
    calls = []

    def loss(params):
        calls.append(params["x"])
        x = params["x"]
        return x**2, gradient if len(calls) == 3 else {"x": 2 * x}

    more = {"storage": tmp_path / "study.jsonl"} if stored else {}

    def run(n_trials):
        return minimize(
            loss,
            {"x": Real(-1.0, 2.0)},
            optimizer=AccSMBO(random_state=0),
            n_trials=n_trials,
            **more,
        )

    history = run(5)
    assert [e.failed for e in history.evaluations] == [False, False, True, False, False]
    assert "gradient" in history.evaluations[2].error
    if stored:
        loaded = JournalStorage(tmp_path / "study.jsonl").load()
        assert [e.failed for e in loaded.evaluations] == [
            e.failed for e in history.evaluations
        ]
        assert len(run(7)) == 7
        assert len(calls) == 7
