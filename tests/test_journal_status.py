# SPDX-License-Identifier: BSD-3-Clause
"""What a journal says of its study: running, ended and why, or unknown."""

import contextlib
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor

import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from accsmbo import JournalStorage, Real, Space, minimize
from accsmbo.execution import StopReason
from accsmbo.optimizers import HOAG, RandomSearch
from accsmbo.search import GridSearchCV
from accsmbo.stopping import TargetReached
from accsmbo.storage import Journal, _lock
from accsmbo.storage._lock import is_locked
from tests._journals import records_in, rewrite

SPACE = {"x": Real(-1, 2)}
X, y = load_iris(return_X_y=True)


def square(params):
    return params["x"] ** 2


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.jsonl"


def run(path, n_trials=4, func=square, space=SPACE, **kwargs):
    arguments = {"optimizer": RandomSearch(), "random_state": 0} | kwargs
    return minimize(func, space, n_trials=n_trials, storage=path, **arguments)


def status(path):
    return JournalStorage(path).status()


class Gone(Executor):
    def submit(self, *args, **kwargs):
        raise RuntimeError("cannot schedule new futures after shutdown")


def interrupted(params):
    raise KeyboardInterrupt


def slow(params):
    time.sleep(0.06)
    return 1.0


ENDINGS = {
    "budget": {},
    "exhausted": {"space": {"x": [1, 2, 3]}, "n_trials": 9},
    "converged": {
        "optimizer": HOAG(),
        "func": lambda p: (p["x"] ** 2, {"x": 2 * p["x"]}),
        "n_trials": 60,
    },
    "timeout": {"func": slow, "timeout": 0.05, "n_trials": 20},
    "condition": {"stop_when": TargetReached(10.0)},
    "interrupted": {"func": interrupted},
    "executor": {"executor": Gone()},
}


@pytest.mark.filterwarnings("ignore::accsmbo.exceptions.SearchInterruptedWarning")
@pytest.mark.parametrize("reason", ENDINGS)
def test_a_run_records_why_it_ended(path, reason):
    run(path, **ENDINGS[reason])
    found = status(path)
    assert (found.state, found.reason, found.error) == ("ended", reason, None)
    assert StopReason[reason.upper()].value


def test_the_reason_of_a_whole_grid_and_of_a_callback(path, tmp_path):
    def fit(path, **kwargs):
        grid = {"C": [0.1, 1.0, 10.0]}
        GridSearchCV(
            LogisticRegression(max_iter=2000), grid, cv=2, storage=path, **kwargs
        ).fit(X, y)
        return status(path)

    assert fit(path).reason == "exhausted"
    stopped = fit(tmp_path / "b", callbacks=lambda history: len(history) == 2)
    assert (stopped.reason, stopped.n_trials) == ("callback", 3)


def test_an_error_is_named(path):
    search = GridSearchCV(
        LogisticRegression(), {"C": [-1.0]}, cv=2, error_score="raise", storage=path
    )
    with pytest.raises(ValueError, match="'C' parameter"):
        search.fit(X, y)
    found = status(path)
    assert (found.state, found.reason) == ("ended", "error")
    assert "InvalidParameterError: The 'C' parameter" in found.error
    assert len(found.error) <= 300


def test_it_is_running_while_it_runs_also_when_it_is_resumed(path):
    seen = []

    def look(params):
        seen.append(status(path))
        return square(params)

    run(path, 2, look)
    run(path, 5, look)
    assert [s.state for s in seen] == ["running"] * 5
    assert [s.n_trials for s in seen] == [2, 2, 5, 5, 5]
    assert {s.reason for s in seen} == {None}
    assert status(path).n_trials == 5


def test_a_finished_study_that_is_opened_again_is_not_written(path):
    run(path)
    before = path.read_bytes()
    assert len(run(path)) == 4
    assert path.read_bytes() == before
    run(path, 5)
    assert status(path).n_trials == 5
    assert before in path.read_bytes()


def test_by_hand_a_journal_is_closed_or_left_by_an_error(path):
    space = Space(SPACE)
    with JournalStorage(path).open(space, {}, seed=0) as journal:
        assert status(path).state == "running"
        trial = RandomSearch(space, random_state=0).ask()
        journal.asked(trial)
    assert status(path).reason == "closed"
    leave_by(KeyboardInterrupt(), path)
    assert status(path).reason == "interrupted"
    leave_by(OSError(9), path)
    assert status(path).reason == "error"
    assert status(path).error == "OSError: 9"


def leave_by(error, path):
    with (
        contextlib.suppress(type(error)),
        JournalStorage(path).open(Space(SPACE), {}, seed=0) as journal,
    ):
        journal.started(3)
        raise error


def without(path, *kinds):
    """Take records out, as if another version had written the journal."""
    rewrite(path, [r for r in records_in(path) if next(iter(r)) not in kinds])


def test_journals_without_the_records_are_read_and_resumed(path):
    whole = run(None, 6)
    run(path)
    without(path, "started", "ended")
    found = status(path)
    assert (found.state, found.reason, found.n_trials) == ("unknown", None, None)
    assert found.modified == pytest.approx(time.time(), abs=60)
    resumed = run(path, 6)
    assert resumed.values.tolist() == whole.values.tolist()
    assert status(path).reason == "budget"


def test_records_of_kinds_to_come_are_skipped(path):
    run(path)
    rewrite(path, [*records_in(path), {"paused": {"time": 1.0}}])
    assert len(JournalStorage(path).load()) == 4
    assert status(path).state == "unknown"
    assert len(run(path, 5)) == 5


def test_a_torn_end_is_no_end_and_goes_when_the_study_is_resumed(path):
    run(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    assert status(path).state == "unknown"
    assert len(JournalStorage(path).load()) == 4
    run(path)
    assert status(path).reason == "budget"
    assert path.read_bytes().count(b'"ended"') == 1


def test_two_that_write_without_locks_have_not_ended_while_one_goes_on(path):
    run(path)
    *records, told, ended = records_in(path)
    rewrite(path, [*records, ended, told])
    assert status(path).state == "unknown"
    assert len(JournalStorage(path).load()) == 4


def test_files_that_are_no_journals_have_no_status(tmp_path):
    with pytest.raises(FileNotFoundError):
        status(tmp_path / "absent")
    (tmp_path / "table.csv").write_text("a,b\n")
    with pytest.raises(ValueError, match="not the header of an accsmbo journal"):
        status(tmp_path / "table.csv")


@pytest.mark.skipif(os.name == "nt", reason="locks of another kind")
def test_looking_does_not_keep_a_run_from_starting(path):
    run(path)
    with open(path, "rb") as file:
        _lock._take(file, shared=True)
        threading.Timer(0.03, lambda: _lock.unlock(file)).start()
        assert not is_locked(path)
        assert len(run(path, 5)) == 5
    assert not is_locked(path)


@pytest.mark.skipif(os.name == "nt", reason="passes a file descriptor")
def test_a_process_that_inherited_the_file_does_not_keep_it_locked(path):
    with JournalStorage(path).open(Space(SPACE), {}, seed=0) as journal:
        child = subprocess.Popen(
            [sys.executable, "-c", "input()"],
            stdin=subprocess.PIPE,
            pass_fds=[journal._file.fileno()],
        )
    try:
        assert status(path).state == "ended"
        JournalStorage(path).open(Space(SPACE), {}, seed=0).close()
    finally:
        child.communicate(b"\n")


def test_an_end_that_cannot_be_written_is_not_known(path, monkeypatch):
    write = Journal._write

    def full(journal, record, **kwargs):
        if "ended" in record:
            raise OSError(28, "No space left on device")
        write(journal, record, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "_write", full)
        assert len(run(path)) == 4
    assert status(path).state == "unknown"
    assert len(JournalStorage(path).load()) == 4
