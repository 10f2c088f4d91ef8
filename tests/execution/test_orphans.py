# SPDX-License-Identifier: BSD-3-Clause
"""Nothing is left behind and nothing hangs: orphans, stopped processes, memory."""

import collections
import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from accsmbo import minimize
from accsmbo.exceptions import SearchInterruptedWarning
from accsmbo.execution import _processes, run
from accsmbo.execution._minimize import _FunctionObjective
from accsmbo.execution._worker_handle import HANDLES
from accsmbo.optimizers import RandomSearch
from accsmbo.storage import JournalStorage
from tests.execution._functions import SPACE, loss
from tests.execution._processes import ROOT, ended, linux_only, state_of, wait_for

pytestmark = linux_only


def evaluated(func, n_trials=2, **kwargs):
    """Return the history of a function in two worker processes; all calls may fail."""
    optimizer = RandomSearch(SPACE, random_state=0)
    kwargs = {"n_jobs": 2, "n_trials": n_trials} | kwargs
    run(optimizer, _FunctionObjective(func), **kwargs)
    return optimizer.history


def hold_the_lock():
    """Run for ages in C, without letting other threads of Python run."""
    re.match(r"(a+)+$", "a" * 60 + "b")


def note(folder, *pids):
    with open(Path(folder) / "pids", "a") as file:
        file.writelines(f"{pid}\n" for pid in pids)


def noted(folder):
    path = Path(folder) / "pids"
    return [int(pid) for pid in path.read_text().split()] if path.exists() else []


class Busy:
    """Starts a child, and holds the interpreter's lock for ever."""

    def __init__(self, folder):
        self.folder = str(folder)
        self.data = np.zeros(1_000_000)

    def __call__(self, params):
        child = subprocess.Popen(["sleep", "500"])
        note(self.folder, os.getpid(), child.pid)
        hold_the_lock()


def started(code, tmp_path, **environment):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    paths = {"PYTHONPATH": str(ROOT), "TMPDIR": str(scratch)}
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | paths | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


BUSY = """
from accsmbo import minimize
from tests.execution._functions import SPACE
from tests.execution.test_orphans import Busy
minimize(Busy({folder!r}), SPACE, n_trials=4, n_jobs=2)
"""


def test_a_killed_parent_takes_workers_and_their_children_along(tmp_path):
    """Workers in C calls that hold the lock cannot see it themselves."""
    parent = started(BUSY.format(folder=str(tmp_path)), tmp_path)
    wait_for(lambda: len(noted(tmp_path)) == 4)
    assert list((tmp_path / "scratch").iterdir()) == []
    parent.kill()
    parent.communicate()
    wait_for(lambda: all(ended(pid) for pid in noted(tmp_path)), 10.0)
    assert list((tmp_path / "scratch").iterdir()) == []


def test_workers_die_with_their_template(tmp_path):
    evaluated(loss)
    template = _processes.IDLE._template._process.pid
    busy = Busy(tmp_path)
    # Not before both have begun.
    killer = threading.Thread(
        target=lambda: (
            wait_for(lambda: len(noted(tmp_path)) == 4),
            os.kill(template, signal.SIGKILL),
        )
    )
    killer.start()
    history = evaluated(busy, max_retries=0)
    killer.join()
    assert [e.error for e in history.evaluations if "SIGKILL" not in e.error] == []
    children = noted(tmp_path)[1::2]
    wait_for(lambda: all(ended(pid) for pid in noted(tmp_path)[::2]), 10.0)
    for child in children:
        os.kill(child, signal.SIGKILL)


class Dies:
    """Starts a child, and dies."""

    def __init__(self, folder, how):
        self.folder = str(folder)
        self.how = how

    def __call__(self, params):
        child = subprocess.Popen(["sleep", "500"])
        note(self.folder, child.pid)
        if self.how == "exit":
            os._exit(1)
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        ctypes.string_at(0)


@pytest.mark.parametrize(
    ("how", "reason"),
    [("exit", "exit code 1"), ("kill", "SIGKILL"), ("segfault", "SIGSEGV")],
)
def test_the_children_of_a_worker_that_dies_are_killed(tmp_path, how, reason):
    history = evaluated(Dies(tmp_path, how), max_retries=0)
    assert [reason in e.error for e in history.evaluations] == [True] * 2
    assert len(noted(tmp_path)) == 2
    wait_for(lambda: all(ended(pid) for pid in noted(tmp_path)), 10.0)


class Moves(Busy):
    """Leaves its process group for that of a child, and holds the lock."""

    def __call__(self, params):
        child = subprocess.Popen(["sleep", "500"], process_group=0)
        note(self.folder, os.getpid(), child.pid)
        os.setpgid(0, child.pid)
        hold_the_lock()


def test_a_worker_that_has_left_its_group_is_ended(tmp_path):
    history = evaluated(Moves(tmp_path), trial_timeout=0.5)
    assert all("ran longer" in e.error for e in history.evaluations)
    workers, children = noted(tmp_path)[::2], noted(tmp_path)[1::2]
    wait_for(lambda: all(ended(pid) for pid in workers), 10.0)
    # They are in groups of their own.
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def test_a_fork_of_the_parent_keeps_no_connection_to_a_worker():
    evaluated(loss)
    open_ones = [handle for handle in HANDLES if not handle.connection.closed]
    assert open_ones
    pid = os.fork()
    if pid == 0:
        os._exit(any(not handle.connection.closed for handle in open_ones))
    assert os.waitpid(pid, 0)[1] == 0
    assert not any(handle.connection.closed for handle in open_ones)


def test_a_stopped_template_is_woken():
    evaluated(loss)
    for process in _processes.IDLE._processes:
        process.kill()
    template = _processes.IDLE._template._process.pid
    os.kill(template, signal.SIGSTOP)
    wait_for(lambda: state_of(template) == "T")
    assert np.isfinite(evaluated(loss).values).all()


def stop_above(params):
    if params["x"] > 0.0:
        os.kill(os.getpid(), signal.SIGSTOP)
    return loss(params)


def test_a_stopped_worker_is_said_and_goes_on(monkeypatch):
    said = []

    def wake(text, category):
        said.append(text)
        os.kill(int(re.search(r"-CONT (\d+)", text)[1]), signal.SIGCONT)

    monkeypatch.setattr(_processes, "warn_user", wake)
    history = evaluated(stop_above, n_trials=4)
    np.testing.assert_array_equal(
        history.values, [loss(t.params) for t in history.trials]
    )
    n_stopped = sum(t.params["x"] > 0.0 for t in history.trials)
    assert 1 <= len(said) <= n_stopped
    assert all("has been stopped by a signal" in text for text in said)


X = np.random.default_rng(0).normal(size=(60, 4))


def fit_with_little_left(params):
    """Fit by L-BFGS of scipy with most of 200 MB taken."""
    held = np.ones(22_000_000)
    return held[0] - LogisticRegression().fit(X, X[:, 0] > 0).score(X, X[:, 0] > 0)


def test_a_limit_leaves_blas_its_buffers():
    history = evaluated(
        fit_with_little_left, memory_limit=200_000_000, trial_timeout=30.0
    )
    assert np.isfinite(history.values).all()


def test_a_limit_too_small_for_a_thread_of_blas_is_refused_with_the_number():
    with pytest.raises(ValueError, match="memory_limit must be at least") as caught:
        evaluated(fit_with_little_left, memory_limit=1_000_000)
    needed = int(re.search(r"at least (\d+) bytes", str(caught.value))[1])
    assert np.isfinite(evaluated(loss, memory_limit=needed).values).all()


KEPT = []


def keeps(params):
    KEPT.append(np.ones(19_000_000))
    return float(os.getpid())


def test_a_worker_that_leaks_past_its_limit_is_renewed():
    history = evaluated(keeps, n_trials=6, n_jobs=1, memory_limit=200_000_000)
    calls = collections.Counter(history.values)
    assert list(calls.values()) == [2, 2, 2]


IMPORTING = """
import pathlib, sys, time
if sys.argv[0] == "-c" and pathlib.Path({folder!r}, "parent").exists():
    pathlib.Path({folder!r}, "template").touch()
    time.sleep(0.5)
"""
STARTING = """
import pathlib
from accsmbo import minimize
from tests.execution._functions import SPACE, loss
pathlib.Path({folder!r}, "parent").touch()
print(len(minimize(loss, SPACE, n_trials=4, n_jobs=2)))
"""


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_while_workers_start_prints_one_message(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(IMPORTING.format(folder=str(tmp_path)))
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    program = STARTING.format(folder=str(tmp_path))
    parent = started(program, tmp_path, PYTHONPATH=path)
    wait_for((tmp_path / "template").exists)
    # What a terminal does: all processes of the group get it.
    os.killpg(parent.pid, signal.SIGINT)
    output, errors = parent.communicate(timeout=20)
    assert output.split() == ["0"]
    assert "Traceback" not in errors
    assert errors.count("Warning: minimize was interrupted after 0 of 4 trials") == 1


@pytest.fixture
def default_handler():
    """SIGTERM as it is in a new process."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


def terminates(params):
    CALLS.append(params)
    if len(CALLS) == 3:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
    return loss(params)


CALLS = []


@pytest.mark.usefixtures("default_handler")
def test_sigterm_ends_a_run_once_and_restores_its_handler(tmp_path):
    CALLS.clear()
    path = tmp_path / "study.jsonl"
    with pytest.warns(SearchInterruptedWarning, match="after 2 of 9 trials"):
        history = minimize(terminates, SPACE, n_trials=9, storage=path)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    assert len(history) == len(JournalStorage(path).load()) == 2
    assert JournalStorage(path).status().reason == "interrupted"


@pytest.mark.usefixtures("default_handler")
def test_a_handler_of_the_user_is_called_in_place_of_ours():
    CALLS.clear()
    seen = []
    signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    assert len(minimize(terminates, SPACE, n_trials=5)) == 5
    assert seen


@pytest.mark.usefixtures("default_handler")
def test_a_fork_in_a_call_dies_of_sigterm():
    """As pools of processes end theirs."""

    def forks(params):
        pid = os.fork()
        if pid == 0:
            signal.pause()
        os.kill(pid, signal.SIGTERM)
        return float(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

    assert list(minimize(forks, SPACE, n_trials=2).values) == [-signal.SIGTERM] * 2


def test_data_have_no_name_in_the_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    large = np.arange(500_000.0)

    def sees(params):
        return float(len(os.listdir(tmp_path))) + large[0] + large.flags.writeable

    assert list(evaluated(sees).values) == [0.0, 0.0]
