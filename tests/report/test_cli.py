# SPDX-License-Identifier: BSD-3-Clause
"""The command: what it prints and writes, its errors and exit codes."""

import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

import accsmbo
from accsmbo import Real, minimize
from accsmbo.cli import main

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "study.jsonl"
    minimize(
        lambda p: p["x"] ** 2,
        {"x": Real(-1, 2)},
        n_trials=8,
        random_state=0,
        storage=path,
    )
    return path


def test_show_prints_plain_text_where_there_is_no_terminal(journal, capsys):
    assert main(["show", str(journal)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("study.jsonl: 8 trials")
    assert "\n  Ended: all trials of the budget were evaluated.\n" in out
    assert "Importance" in out
    assert "\x1b" not in out
    assert err == ""


def test_show_fits_the_terminal(journal, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    assert main(["show", str(journal)]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 50


def test_show_is_bold_in_a_terminal(journal, capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert main(["show", str(journal)]) == 0
    assert "\x1b[1mConvergence" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(["show", str(journal)]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_report_writes_the_page(journal, tmp_path, capsys):
    out = tmp_path / "page.html"
    assert main(["report", str(journal), "-o", str(out), "--title", "Mine"]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    assert "<h1>Mine</h1>" in out.read_text(encoding="utf-8")
    assert main(["report", str(journal)]) == 0
    assert journal.with_suffix(".html").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no file"),
        ("a,b\n", "not the header of an accsmbo journal"),
        ('{"accsmbo_journal":99,"seed":0}\n', "of format 99. Update accsmbo"),
        ('{"accsmbo_journal":1}\n', "cannot be understood"),
    ],
    ids=["missing", "foreign", "newer", "damaged"],
)
@pytest.mark.parametrize("command", ["show", "report"])
def test_files_that_cannot_be_read(command, content, message, tmp_path, capsys):
    path = tmp_path / "study.jsonl"
    if content is not None:
        path.write_text(content)
    assert main([command, str(path)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("accsmbo: error: ")
    assert message in err
    assert err.count("\n") == 1
    assert not path.with_suffix(".html").exists()


def test_places_that_cannot_be_read_or_written(journal, tmp_path, capsys):
    assert main(["show", str(tmp_path)]) == 1
    assert "Is a directory" in capsys.readouterr().err
    absent = tmp_path / "absent" / "report.html"
    assert main(["report", str(journal), "-o", str(absent)]) == 1
    assert "there is no folder" in capsys.readouterr().err
    assert main(["report", str(journal), "-o", str(journal)]) == 1
    assert "another file than the journal" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [[], ["other"], ["show"], ["report", "a", "--interval", "0"]],
    ids=["nothing", "unknown", "no journal", "interval"],
)
def test_wrong_arguments_exit_with_2(words, capsys):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    assert "usage: accsmbo" in capsys.readouterr().err


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"accsmbo {accsmbo.__version__}\n"


def test_the_console_script_is_this_function():
    pyproject = Path(__file__).parents[2] / "pyproject.toml"
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"accsmbo": "accsmbo.cli:main"}


SEARCH = """
import sys, time
from accsmbo import Real, minimize
from accsmbo.optimizers import RandomSearch

def loss(params):
    time.sleep(0.2)
    return params["x"] ** 2

if __name__ == "__main__":
    minimize(loss, {"x": Real(-1, 2)}, optimizer=RandomSearch(), n_trials=5000,
        timeout=float(sys.argv[1]), storage=sys.argv[2])
"""


def start(*words):
    return subprocess.Popen(
        [sys.executable, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def watching(tmp_path, seconds):
    """Start a search and a watcher; return both processes and the page."""
    path, out = tmp_path / "study.jsonl", tmp_path / "report.html"
    search = start("-c", SEARCH, str(seconds), str(path))
    wait_for(lambda: path.exists() and b'"told"' in path.read_bytes())
    words = ["report", str(path), "-o", str(out), "--watch", "--interval", "0.1"]
    watch = start("-m", "accsmbo", *words)
    return search, watch, out


def test_watch_as_a_process_ends_with_the_search(tmp_path):
    search, watch, out = watching(tmp_path, 3)
    stdout, stderr = watch.communicate(timeout=60)
    assert (watch.returncode, stderr) == (0, "")
    assert "Ended: the time limit was reached." in stdout
    assert f"{out} is complete" in stdout
    text = out.read_text(encoding="utf-8")
    assert "Ended: the time limit was reached." in text
    assert "refresh" not in text
    search.communicate(timeout=60)


@pytest.mark.usefixtures("ctrl_c")
def test_watch_as_a_process_ends_by_ctrl_c_with_a_last_page(tmp_path):
    search, watch, out = watching(tmp_path, 60)
    wait_for(out.exists)
    watch.send_signal(signal.SIGINT)
    stdout, stderr = watch.communicate(timeout=60)
    search.kill()
    search.communicate(timeout=60)
    assert (watch.returncode, stderr) == (0, "")
    assert f"{out} is complete" in stdout
    text = out.read_text(encoding="utf-8")
    assert "Running." in text
    assert "refresh" not in text


def test_a_reader_that_stops_early_is_no_error(journal):
    root = str(Path(__file__).parents[2])
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "accsmbo", "show", str(journal)],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": root},
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")
