# SPDX-License-Identifier: BSD-3-Clause
"""Files are replaced whole: links, modes, pipes, devices, planted names."""

import contextlib
import os
import socket
import stat
import threading
import time
from pathlib import Path

import pytest

from accsmbo import Real, minimize
from accsmbo._files import check_regular, new_beside, replacing
from accsmbo.report import write_report

pytestmark = pytest.mark.skipif(os.name == "nt", reason="files of other kinds")


def small_history():
    return minimize(lambda p: p["x"], {"x": Real(0, 1)}, n_trials=3, random_state=0)


def put(path, data=b"new"):
    with replacing(path, "out") as file:
        file.write(data)


def test_what_a_link_points_to_is_replaced_and_not_the_link(tmp_path):
    (tmp_path / "deep").mkdir()
    target, link = tmp_path / "deep" / "target", tmp_path / "link"
    link.symlink_to(target)
    for data in (b"made", b"new"):
        put(link, data)
        assert link.is_symlink()
        assert target.read_bytes() == data
    assert os.listdir(tmp_path / "deep") == ["target"]


def test_the_mode_stays_and_a_new_file_has_that_of_the_umask(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.touch()
    old.chmod(0o604)
    mask = os.umask(0o027)
    try:
        put(old)
        put(new)
    finally:
        os.umask(mask)
    assert [stat.S_IMODE(p.stat().st_mode) for p in (old, new)] == [0o604, 0o640]


def test_a_pipe_is_written_in_place_and_refused_where_nobody_reads(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="nobody reads this pipe"):
        put(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    # More than a pipe holds.
    data, found = bytes(300_000), b""
    writer = threading.Thread(target=put, args=(pipe, data))
    writer.start()
    end = time.monotonic() + 30
    while len(found) < len(data) and time.monotonic() < end:
        with contextlib.suppress(BlockingIOError):
            found += os.read(reader, 2**16)
    writer.join()
    os.close(reader)
    assert found == data
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_device_is_written_in_place(tmp_path):
    link = tmp_path / "null"
    link.symlink_to("/dev/null")
    put(link)
    assert link.is_symlink()
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    full = tmp_path / "full"
    full.symlink_to("/dev/full")
    with pytest.raises(OSError, match="space"):
        put(full)


def test_directories_and_sockets_are_refused_by_name(tmp_path):
    with socket.socket(socket.AF_UNIX) as server:
        place = tmp_path / "s"
        server.bind(str(place))
        for path, kind in ((tmp_path, "a directory"), (place, "a socket")):
            with pytest.raises(ValueError, match=f"out must be .*{path}.*{kind}"):
                put(path)
            with pytest.raises(ValueError, match=f"storage must be .*{kind}"):
                check_regular(path, "storage")


def test_nothing_changes_where_writing_fails(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with (
        pytest.raises(TypeError, match="bytes-like"),
        replacing(path, "out") as file,
    ):
        file.writelines([b"half", None])
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_planted_link_of_the_old_draft_name_is_not_followed(tmp_path):
    pytest.importorskip("matplotlib")
    mine = tmp_path / "mine"
    mine.write_text("precious")
    out = tmp_path / "report.html"
    (tmp_path / f".report.html.{os.getpid()}.part").symlink_to(mine)
    write_report(small_history(), out)
    assert mine.read_text() == "precious"
    assert not out.is_symlink()


def test_a_report_goes_to_a_link_and_to_a_pipe(tmp_path):
    pytest.importorskip("matplotlib")
    out, link = tmp_path / "report.html", tmp_path / "link.html"
    link.symlink_to(out)
    write_report(small_history(), link)
    assert link.is_symlink()
    assert out.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    link.unlink()
    link.symlink_to(tmp_path / "absent" / "report.html")
    with pytest.raises(ValueError, match=r"no folder .*absent"):
        write_report(small_history(), link)


def test_new_files_never_take_the_place_of_others(tmp_path):
    for number in range(3):
        with new_beside(tmp_path / "a.jsonl", "damaged") as file:
            file.write(b"%d" % number)
    names = ["a.jsonl.damaged", "a.jsonl.damaged-2", "a.jsonl.damaged-3"]
    assert [(tmp_path / name).read_text() for name in names] == ["0", "1", "2"]
