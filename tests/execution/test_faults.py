# SPDX-License-Identifier: BSD-3-Clause
"""Faults with real processes: killed, hanging and greedy workers, signals."""

import collections
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from accsmbo import minimize
from accsmbo.exceptions import SearchInterruptedWarning
from accsmbo.execution import run
from accsmbo.execution._minimize import _FunctionObjective
from accsmbo.optimizers import RandomSearch
from accsmbo.storage import Journal, JournalStorage
from tests.execution._functions import SPACE, Misbehaves, Notes, loss

ROOT = Path(__file__).parents[2]
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_AS")


class Marks(Notes):
    """Notes the end of each call too."""

    def __call__(self, params):
        value = super().__call__(params)
        with open(Path(self.folder) / "ends", "a") as file:
            file.write(f"{os.getpid()}\n")
        return value

    def n_ended(self, pid):
        """How many calls a process has ended."""
        path = Path(self.folder) / "ends"
        return path.read_text().split().count(str(pid)) if path.exists() else 0


class Killer(threading.Thread):
    """Kills running workers; notes which trial was hit when."""

    def __init__(self, notes, n_kills, pause):
        super().__init__(daemon=True)
        self.notes = notes
        self.n_kills = n_kills
        self.pause = pause
        self.rng = np.random.default_rng(0)
        self.done = threading.Event()
        self.hits = []

    def run(self):
        while len(self.hits) < self.n_kills and not self.done.is_set():
            time.sleep(self.pause * self.rng.uniform(0.5, 1.5))
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                self.kill_one(self.notes.calls())

    def kill_one(self, calls):
        last = {pid: x for x, pid, _ in calls}
        killed = {pid for _, pid in self.hits}
        x, pid, start = calls[-1]
        fresh = time.time() - start < 0.5 * self.notes.seconds
        if pid in killed or not fresh or last[pid] != x:
            return
        os.kill(pid, signal.SIGKILL)
        self.hits.append((x, pid))


class SparingKiller(Killer):
    """Kills no worker that runs a trial which was hit before.

    A worker is stopped first: while it stands still inside a call, it is known which.
    """

    def kill_one(self, calls):
        killed = {pid for _, pid in self.hits}
        alive = sorted({pid for _, pid, _ in calls} - killed)
        if not alive:
            return
        pid = alive[self.rng.integers(len(alive))]
        os.kill(pid, signal.SIGSTOP)
        wait_for(lambda: state_of(pid) in ("T", "Z", None))
        mine = [x for x, other, _ in self.notes.calls() if other == pid]
        inside = self.notes.n_ended(pid) < len(mine)
        if inside and mine[-1] not in {x for x, _ in self.hits}:
            os.kill(pid, signal.SIGKILL)
            self.hits.append((mine[-1], pid))
        else:
            os.kill(pid, signal.SIGCONT)


def hit_twice(notes, killer):
    """Trials under which a worker was killed on both runs: its last call counts."""
    last = {pid: x for x, pid, _ in notes.calls()}
    hit = collections.Counter(last[pid] for _, pid in killer.hits)
    return {x for x, n in hit.items() if n == 2}


def run_under_fire(notes, killer, n_trials):
    optimizer = RandomSearch(SPACE, random_state=0)
    killer.start()
    try:
        run(optimizer, _FunctionObjective(notes), n_trials=n_trials, n_jobs=3)
    finally:
        killer.done.set()
        killer.join()
    return optimizer.history


def test_twenty_workers_killed_cost_only_trials_hit_twice(tmp_path):
    notes = Notes(tmp_path, seconds=0.1)
    killer = Killer(notes, 20, 0.1)
    history = run_under_fire(notes, killer, 100)
    assert len(killer.hits) == 20
    assert sorted(t.number for t in history.trials) == list(range(100))
    runs = collections.Counter(x for x, _, _ in notes.calls())
    assert max(runs.values()) <= 2
    failed = {t.params["x"] for t, e in history if e.failed}
    assert failed <= hit_twice(notes, killer)
    for _, evaluation in history:
        if evaluation.failed:
            assert "killed by signal SIGKILL, 2 times" in evaluation.error


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_kills_that_hit_no_trial_twice_lose_nothing(tmp_path):
    notes = Marks(tmp_path, seconds=0.1)
    killer = SparingKiller(notes, 20, 0.05)
    history = run_under_fire(notes, killer, 100)
    hit = [x for x, _ in killer.hits]
    assert len(hit) == len(set(hit)) == 20
    assert sorted(t.number for t in history.trials) == list(range(100))
    assert [e.error for e in history.evaluations] == [None] * 100
    np.testing.assert_array_equal(
        history.values, [loss(t.params) for t in history.trials]
    )
    runs = collections.Counter(x for x, _, _ in notes.calls())
    assert runs == {t.params["x"]: 1 + (t.params["x"] in hit) for t in history.trials}


@pytest.mark.parametrize(
    ("how", "reason"), [("exit", "exit code 3"), ("kill", "signal SIGKILL")]
)
@pytest.mark.parametrize("max_retries", [0, 1])
def test_a_call_that_ends_its_process_fails_alone(how, reason, max_retries):
    times = ["once", "2 times"][max_retries]
    history = minimize(
        Misbehaves(how),
        SPACE,
        optimizer=RandomSearch(),
        n_trials=12,
        n_jobs=2,
        max_retries=max_retries,
        random_state=0,
    )
    assert len(history) == 12
    for trial, evaluation in history:
        assert evaluation.failed == (trial.params["x"] > 0.5)
        if evaluation.failed:
            assert reason in evaluation.error
            assert times in evaluation.error


def test_a_call_that_sleeps_for_ever_is_ended():
    start = time.monotonic()
    history = minimize(
        Misbehaves("sleep", limit=1.5),
        SPACE,
        optimizer=RandomSearch(),
        n_trials=12,
        n_jobs=2,
        trial_timeout=0.5,
        random_state=0,
    )
    assert len(history) == 12
    slow = [e for t, e in history if t.params["x"] > 1.5]
    assert slow
    assert all("ran longer than trial_timeout=0.5" in e.error for e in slow)
    assert sum(e.failed for e in history.evaluations) == len(slow)
    assert time.monotonic() - start < 30


@linux_only
def test_a_call_that_allocates_without_end_fails():
    history = minimize(
        Misbehaves("allocate", limit=1.0),
        SPACE,
        optimizer=RandomSearch(),
        n_trials=10,
        memory_limit=200_000_000,
        random_state=0,
    )
    greedy = [e for t, e in history if t.params["x"] > 1.0]
    assert greedy
    assert all("MemoryError" in e.error for e in greedy)
    assert sum(e.failed for e in history.evaluations) == len(greedy)


def test_timeout_ends_our_processes_within_a_second(tmp_path):
    minimize(Notes(tmp_path), SPACE, n_trials=2, n_jobs=2)  # processes are there
    start = time.monotonic()
    history = minimize(
        Notes(tmp_path, seconds=0.2),
        SPACE,
        optimizer=RandomSearch(),
        n_trials=1000,
        timeout=1.0,
        n_jobs=2,
    )
    assert 1.0 <= time.monotonic() - start < 2.0
    assert 1 <= len(history) < 1000
    assert np.isfinite(history.values).all()


PROGRAM = """
import time, warnings
from accsmbo import minimize
from accsmbo.exceptions import SearchInterruptedWarning
from accsmbo.optimizers import RandomSearch
from tests.execution._functions import SPACE, Notes

if __name__ == "__main__":
    warnings.simplefilter("ignore", SearchInterruptedWarning)
    history = minimize(Notes({folder!r}, seconds=0.2), SPACE, n_trials=500,
        optimizer=RandomSearch(), n_jobs=2, storage={journal!r}, random_state=0)
    print(len(history), history.best_value)
"""


def wait_for(condition, seconds=40.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def state_of(pid):
    """Return the state letter of a process; None: it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return None


def ended(pid):
    """Whether a process is gone (a zombie is: nobody may collect it here)."""
    return state_of(pid) in ("Z", None)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_signal_loses_nothing_and_leaves_no_process(tmp_path, number):
    journal = tmp_path / "study.jsonl"
    program = PROGRAM.format(folder=str(tmp_path), journal=str(journal))
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    notes = Notes(tmp_path)
    wait_for(lambda: (tmp_path / "calls").exists() and len(notes.calls()) > 8)
    pids = {pid for _, pid, _ in notes.calls()}
    process.send_signal(number)
    output, _ = process.communicate(timeout=20)
    wait_for(lambda: all(ended(pid) for pid in pids), 10.0)
    history = JournalStorage(journal).load()
    assert len(history) >= 5
    status = JournalStorage(journal).status()
    assert status.n_trials == 500
    if number == signal.SIGKILL:
        assert status.state == "unknown"
    if number == signal.SIGINT:
        assert (status.state, status.reason) == ("ended", "interrupted")
        assert process.returncode == 0
        n, best = output.split()
        assert int(n) == len(history)
        assert float(best) == history.best_value


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_while_a_result_is_stored_splits_nothing(tmp_path, monkeypatch):
    told = Journal.told

    def interrupted(journal, trial, evaluation):
        if trial.number == 3:
            os.kill(os.getpid(), signal.SIGINT)
        told(journal, trial, evaluation)
        if trial.number == 3:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Journal, "told", interrupted)
    path = tmp_path / "study.jsonl"
    with pytest.warns(SearchInterruptedWarning, match="after 4 of 9 trials"):
        history = minimize(loss, SPACE, n_trials=9, storage=path, random_state=0)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert len(history) == len(JournalStorage(path).load()) == 4


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("n_trials", [3, 9], ids=["at the end", "twice"])
def test_ctrl_c_while_the_end_is_recorded_loses_nothing(
    tmp_path, monkeypatch, n_trials
):
    ended = Journal.ended

    def interrupted(journal, *args):
        os.kill(os.getpid(), signal.SIGINT)
        ended(journal, *args)

    def loss_of_three(params):
        calls.append(params)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return loss(params)

    calls = []
    monkeypatch.setattr(Journal, "ended", interrupted)
    path = tmp_path / "study.jsonl"
    with pytest.warns(SearchInterruptedWarning, match="interrupted after 3 of"):
        history = minimize(
            loss_of_three, SPACE, n_trials=n_trials, storage=path, random_state=0
        )
    assert len(history) == len(JournalStorage(path).load()) == 3
    assert JournalStorage(path).status().state == "ended"


@pytest.mark.usefixtures("ctrl_c")
def test_where_ctrl_c_is_ignored_it_does_not_end_a_run(tmp_path):
    """As of a program that was started by nohup."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the fixture puts it back

    def interrupted(params):
        os.kill(os.getpid(), signal.SIGINT)
        return loss(params)

    path = tmp_path / "study.jsonl"
    history = minimize(interrupted, SPACE, n_trials=5, storage=path, random_state=0)
    assert len(history) == len(JournalStorage(path).load()) == 5
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN


def test_an_interrupt_from_a_call_in_a_worker_ends_the_run():
    with pytest.warns(SearchInterruptedWarning, match="interrupted after"):
        history = minimize(interrupts_late, SPACE, n_trials=30, n_jobs=2)
    assert len(history) < 30


def interrupts_late(params):
    if params["x"] > 1.0:
        raise KeyboardInterrupt
    return params["x"] ** 2
