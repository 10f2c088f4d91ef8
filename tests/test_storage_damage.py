# SPDX-License-Identifier: BSD-3-Clause
"""Journals that something else changes or damages: nothing is lost, all is said."""

import errno
import os
import shutil
import signal
import socket

import pytest

from accsmbo import Real, Space, minimize
from accsmbo.exceptions import (
    JournalDamaged,
    JournalWarning,
    SearchInterruptedWarning,
)
from accsmbo.optimizers import RandomSearch
from accsmbo.storage import JournalStorage, _journal, _lock, _open_file, _reading
from tests._journals import as_version_1, records_in, rewrite

SPACE = {"x": Real(-1.0, 2.0)}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.jsonl"


def square(params):
    return params["x"] ** 2


class After:
    """Do something to the journal after so many trials."""

    def __init__(self, n_trials, change):
        self.n_trials = n_trials
        self.change = change

    def should_stop(self, optimizer):
        if len(optimizer.history) == self.n_trials:
            self.change()
        return False


def run(path, n_trials=8, **kwargs):
    return minimize(
        square,
        SPACE,
        optimizer=RandomSearch(),
        n_trials=n_trials,
        random_state=0,
        storage=path,
        **kwargs,
    )


def delete(path):
    path.unlink()


def replace_by_a_copy(path):
    shutil.copy(path, f"{path}.copy")
    os.replace(f"{path}.copy", path)


def cut_to_nothing(path):
    os.truncate(path, 0)


def cut_in_half(path):
    os.truncate(path, path.stat().st_size // 2)


def append(path):
    with path.open("ab") as file:
        file.write(b"junk\n")


def overwrite(path):
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(bytes(8))
    # As if it were later than the last tick of the clock of the file system.
    os.utime(path)


CHANGES = [delete, replace_by_a_copy, cut_to_nothing, cut_in_half, append, overwrite]


@pytest.mark.skipif(os.name == "nt", reason="open files cannot be removed")
@pytest.mark.parametrize("change", CHANGES)
def test_a_journal_changed_in_mid_run_is_written_anew_beside(path, change):
    whole = run(None)
    with pytest.warns(JournalWarning, match=r"study.jsonl' was deleted.*\.rescued'"):
        history = run(path, stop_when=After(4, lambda: change(path)))
    assert history.values.tolist() == whole.values.tolist()
    rescued = path.with_name("study.jsonl.rescued")
    assert JournalStorage(rescued).load().values.tolist() == whole.values.tolist()
    assert JournalStorage(rescued).status().reason == "budget"
    longer = run(rescued, 10)
    assert longer.values.tolist() == run(None, 10).values.tolist()


def test_a_resumed_run_writes_what_it_took_over_anew_too(path):
    run(path, 3)
    with pytest.warns(JournalWarning, match="rescued"):
        run(path, 6, stop_when=After(5, path.unlink))
    rescued = path.with_name("study.jsonl.rescued")
    assert len(JournalStorage(rescued).load()) == 6


@pytest.mark.skipif(os.name == "nt", reason="open files cannot be removed")
def test_a_second_rescue_counts_on(path):
    with pytest.warns(JournalWarning, match="rescued'"):
        run(path, 3, stop_when=After(2, path.unlink))
    rescued = path.with_name("study.jsonl.rescued")
    with pytest.warns(JournalWarning, match="rescued-2'"):
        run(rescued, 6, stop_when=After(5, lambda: append(rescued)))
    again = path.with_name("study.jsonl.rescued-2")
    assert set(path.parent.iterdir()) == {rescued, again}
    assert len(JournalStorage(again).load()) == 6


def test_another_time_of_the_same_content_is_no_change(path):
    run(path, 6, stop_when=After(2, lambda: os.utime(path, (0, 0))))
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("n_written", range(2, 8))
def test_ctrl_c_right_after_a_write_is_no_change(path, monkeypatch, n_written):
    written = []

    def write(file, data):
        _open_file.write_all(file, data)
        written.append(data)
        if len(written) == n_written:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(_journal, "write_all", write)
    with pytest.warns(SearchInterruptedWarning):
        history = run(path, 6)
    assert os.listdir(path.parent) == [path.name]
    assert len(JournalStorage(path).load()) == len(history) == (n_written - 2) // 2


def test_another_folder_in_mid_run_is_no_change(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    minimize(
        lambda p: monkeypatch.chdir("/") or p["x"],
        SPACE,
        n_trials=3,
        random_state=0,
        storage=path.name,
    )
    assert len(JournalStorage(path).load()) == 3
    assert os.listdir(path.parent) == [path.name]


def test_zeroed_lines_at_the_end_are_counted_and_kept(path):
    """A tail of zeros is what some file systems leave after power loss."""
    whole = run(path)
    lines = path.read_bytes().splitlines(keepends=True)
    zeros = [bytes(len(line) - 1) + b"\n" for line in lines[-6:]]
    path.write_bytes(b"".join([*lines[:-6], *zeros]))
    message = f"ends in 6 lines .* from line {len(lines) - 5} on"
    with pytest.warns(JournalWarning, match=message):
        assert len(JournalStorage(path).load()) == 5
    with pytest.warns(JournalWarning, match=message):
        assert JournalStorage(path).status().state == "unknown"
    with pytest.warns(JournalWarning, match=r"kept in .*study.jsonl.damaged'"):
        assert run(path).values.tolist() == whole.values.tolist()
    assert path.with_name("study.jsonl.damaged").read_bytes() == b"".join(zeros)
    assert len(JournalStorage(path).load()) == 8


def test_a_torn_line_filled_with_zeros_is_said(path):
    run(path)
    data = path.read_bytes()
    path.write_bytes(data[:-20] + bytes(20))
    with pytest.warns(JournalWarning, match="ends in 1 line that"):
        assert len(JournalStorage(path).load()) == 8


@pytest.mark.parametrize("place", [0, 4, 9])
def test_a_flipped_digit_is_seen(path, place):
    run(path)
    lines = path.read_bytes().splitlines(keepends=True)
    old = next(c for c in b"123456789" if c in lines[place])
    lines[place] = lines[place].replace(bytes([old]), b"0", 1)
    path.write_bytes(b"".join(lines))
    with pytest.raises(JournalDamaged, match=f"line {place + 1} cannot be read"):
        JournalStorage(path).load()


def left_out(lines):
    return [*lines[:4], *lines[5:]]


def doubled(lines):
    return [*lines[:5], lines[4], *lines[5:]]


def exchanged(lines):
    return [*lines[:4], lines[5], lines[4], *lines[6:]]


@pytest.mark.parametrize("change", [left_out, doubled, exchanged])
def test_lines_out_of_place_are_refused_by_number(path, change):
    run(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(change(lines)))
    before = path.read_bytes()
    for read in (JournalStorage(path).load, JournalStorage(path).status):
        with pytest.raises(JournalDamaged, match=r"line [56] cannot .* that of line"):
            read()
    with pytest.raises(JournalDamaged, match=r"keep the [45] lines before it"):
        run(path)
    assert path.read_bytes() == before


def test_the_remedy_of_the_message_works(path):
    whole = run(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:7]))
    assert run(path).values.tolist() == whole.values.tolist()


def test_journals_without_checksums_are_read_and_resumed(path):
    whole = run(None, 11)
    run(path)
    as_version_1(path)
    assert JournalStorage(path).load().values.tolist() == whole.values[:8].tolist()
    assert run(path, 11).values.tolist() == whole.values.tolist()
    assert len(JournalStorage(path).load()) == 11
    records = records_in(path)
    told = next(r for r in records if "told" in r)
    for twice in ([told], [{"told": 99, "evaluation": {"value": 1.0}}]):
        rewrite(path, [*records, *twice])
        with pytest.raises(JournalDamaged, match=r"trial .* was (told|never)"):
            JournalStorage(path).load()


BROKEN = {
    "deep": b"[" * 100_000 + b"]" * 100_000,
    "deep record": b'{"told":0,"evaluation":{"folds":'
    + b"[" * 900
    + b"]" * 900
    + b"}}",
    "long integer": b'{"told":0,"evaluation":{"value":' + b"9" * 4200 + b"}}",
    "infinite": b'{"told":0,"evaluation":{"value":0.5,"end_time":1e400}}',
    "not JSON": b'{"told":0,"evaluation":{"value":NaN}}',
    "list as number": b'{"told":[0],"evaluation":{}}',
    "huge array": b'{"told":0,"evaluation":{"folds":[{"a":{"$array":'
    b'["<f8",[1000000000000],""]}}]}}',
}


@pytest.mark.parametrize("name", BROKEN)
def test_lines_that_break_decoders_give_the_one_error(path, name):
    run(path, 2)
    as_version_1(path)
    lines = path.read_bytes().splitlines(keepends=True)
    place = next(i for i, line in enumerate(lines) if b'"told"' in line)
    path.write_bytes(b"".join([*lines[:place], BROKEN[name] + b"\n", *lines[place:]]))
    with pytest.raises(JournalDamaged, match=rf"study.jsonl', whose line {place + 1}"):
        JournalStorage(path).load()


def test_lines_longer_than_the_bound_are_neither_read_nor_written(path, monkeypatch):
    run(path, 2)
    monkeypatch.setattr(_reading, "MAX_LINE", 1000)
    with path.open("ab") as file:
        file.truncate(2**40)
    with pytest.raises(JournalDamaged, match="over 1000 bytes"):
        JournalStorage(path).load()
    path.write_bytes(b"{" * 2000)
    with pytest.raises(ValueError, match="not the header"):
        run(path)


@pytest.mark.skipif(os.name == "nt", reason="files of other kinds")
def test_what_is_no_regular_file_is_refused_at_once(tmp_path):
    pipe, place = tmp_path / "pipe", tmp_path / "socket"
    os.mkfifo(pipe)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))
        for path in (pipe, place, tmp_path, "/dev/zero", "/dev/full", "/dev/null"):
            storage = JournalStorage(path)
            for use in (storage.load, storage.status, storage.metric, storage.seed):
                with pytest.raises(ValueError, match=f"regular file, got '{path}'"):
                    use()
            with pytest.raises(ValueError, match=r"a pipe|a socket|a dir|a device"):
                run(path)


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"no folder '.*nodir'\. Make it"):
        run(tmp_path / "nodir" / "s.jsonl")


def test_a_file_system_without_locks_is_told_from_a_lock(path, monkeypatch):
    def none(*args, **kwargs):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(_lock, "_take", none)
    with pytest.raises(RuntimeError, match="must be on a file system with locks"):
        JournalStorage(path).open(Space(SPACE), {}, seed=0)
