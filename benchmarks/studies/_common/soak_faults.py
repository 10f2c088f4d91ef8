# SPDX-License-Identifier: BSD-3-Clause
"""The faults of `soak.py`, of processes and files, and the runs that they hit."""

import contextlib
import json
import os
import resource
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import accsmbo
from _common.soak_model import read
from _common.soak_program import noted
from accsmbo.storage import JournalStorage

PATHS = [str(Path(accsmbo.__file__).parents[1]), str(Path(__file__).parents[1])]
PROGRAM = "from _common.soak_program import main; main()"
MARK = "ACCSMBO_SOAK"
HANG_SECONDS = 240.0


def state_of(pid: int) -> tuple[str, int]:
    """Return the state and the parent of a process; ("", 0) where it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return "", 0
    return fields[0], int(fields[1])


def marked(mark: str) -> list[int]:
    """Return the processes with a mark in the environment; zombies have none."""
    found, wanted = [], f"{MARK}={mark}".encode()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
    return found


def wait_for(condition: Callable[[], Any], seconds: float) -> bool:
    """Wait until a condition is true; return whether it became so."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


class Child:
    """A run in a program of its own, with a folder for temporary files of its own."""

    def __init__(self, folder: Path, config: dict[str, Any]) -> None:
        folder.mkdir()
        self.folder = folder
        self.tmp = folder / "tmp"
        self.tmp.mkdir()
        self.told, self.said = folder / "told", folder / "said"
        self.result, self.errors = folder / "result.json", folder / "stderr"
        self.journal = Path(config["storage"])
        names = ("told", "said", "result")
        paths = {name: str(getattr(self, name)) for name in names}
        (folder / "config.json").write_text(json.dumps(config | paths))
        self.mark = secrets.token_hex(8)
        environment = {
            "PYTHONPATH": os.pathsep.join(PATHS),
            "TMPDIR": str(self.tmp),
            MARK: self.mark,
        }
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, str(folder / "config.json")],
                env=os.environ | environment,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                start_new_session=True,
            )
        self.pid = self.process.pid
        self.hung = False

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def has_said(self, text: str) -> bool:
        return any(text in message for _, message in noted(self.said))

    def rescued(self) -> list[Path]:
        """Return the journals that the run has gone on to, as it said."""
        before, after = "The whole history is in '", "', and the run goes on there"
        texts = [text for _, text in noted(self.said) if before in text]
        return [Path(t.split(before)[1].split(after)[0]) for t in texts]

    def wait(self) -> bool:
        """Wait for the end; False, and an end by force, where it hangs."""
        if wait_for(lambda: self.ended, HANG_SECONDS):
            return True
        self.hung = True
        self.process.send_signal(signal.SIGUSR1)
        time.sleep(1.0)
        self.process.kill()
        self.process.wait()
        return False

    def template(self) -> int | None:
        """Return the process that forks the workers."""
        for pid in marked(self.mark):
            command = Path(f"/proc/{pid}/cmdline")
            with contextlib.suppress(OSError):
                program = command.read_bytes().split(b"\0")[2]
                if b"_template_process" in program and state_of(pid)[1] == self.pid:
                    return pid
        return None

    def workers(self) -> list[int]:
        template = self.template()
        pids = sorted(marked(self.mark))
        return [pid for pid in pids if template and state_of(pid)[1] == template]

    def pick(self, whom: str, rng: np.random.Generator) -> int | None:
        """Return the parent, the template or one of the workers."""
        if whom == "parent":
            return None if self.ended else self.pid
        if whom == "template":
            return self.template()
        workers = self.workers()
        return int(rng.choice(workers)) if workers else None

    def signalled(self, number: int, whom: str, rng: np.random.Generator) -> int | None:
        """Send a signal; return the process that got it, None where there is none."""
        pid = self.pick(whom, rng)
        if pid is not None:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                return None
        return pid


def kill(child: Child, whom: str, rng: np.random.Generator) -> bool:
    return child.signalled(signal.SIGKILL, whom, rng) is not None


def pause(child: Child, whom: str, rng: np.random.Generator) -> bool:
    """Stop a process for a while."""
    pid = child.signalled(signal.SIGSTOP, whom, rng)
    if pid is None:
        return False
    time.sleep(rng.uniform(0.05, 0.8))
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)
    return True


def kill_with_stopped(child: Child, whom: str, rng: np.random.Generator) -> bool:
    """Kill the parent while another, or itself, is stopped."""
    pid = child.signalled(signal.SIGSTOP, whom, rng)
    if pid is None:
        return False
    time.sleep(rng.uniform(0.0, 0.3))
    child.process.kill()
    return True


def interrupt(child: Child, whom: str, rng: np.random.Generator) -> bool:
    """Send SIGINT once, twice, or to the group as a terminal does; or SIGTERM."""
    if child.ended:
        return False
    number = signal.SIGTERM if whom.startswith("SIGTERM") else signal.SIGINT
    with contextlib.suppress(ProcessLookupError):
        if whom.endswith("group"):
            os.killpg(child.pid, number)
        else:
            os.kill(child.pid, number)
        if whom.endswith("twice"):
            time.sleep(rng.uniform(0.0, 0.2))
            os.kill(child.pid, number)
    return True


def second(child: Child, whom: str, rng: np.random.Generator) -> bool:
    """Start another run on the journal while the first is held; it must be refused."""
    with held(child) as holds:
        if not holds:
            return False
        config = json.loads((child.folder / "config.json").read_text())
        config["storage"] = str(child.journal)
        name = f"second-{secrets.token_hex(4)}"
        other = Child(child.folder / name, config)
        before = child.journal.read_bytes()
        other.wait()
        refused = "which is locked" in other.errors.read_text()
        if not refused or child.journal.read_bytes() != before:
            raise AssertionError(f"a second run was let in: {other.errors.read_text()}")
        if marked(other.mark) or list(other.tmp.iterdir()):
            raise AssertionError("a run that was refused left something behind")
    return True


@contextlib.contextmanager
def held(child: Child) -> Iterator[bool]:
    """Stop the parent; yield whether it is in a run that has records left to write."""
    if child.ended:
        yield False
        return
    os.kill(child.pid, signal.SIGSTOP)
    try:
        wait_for(lambda: state_of(child.pid)[0] in "TZ", 10.0)
        yield is_open(child)
    finally:
        os.kill(child.pid, signal.SIGCONT)


def is_open(child: Child) -> bool:
    """Tell whether a run has the journal open, and has something left to write."""
    try:
        lines = read(child.journal.read_bytes())
        running = JournalStorage(child.journal).status().state == "running"
    except (FileNotFoundError, ValueError):
        return False
    return lines.run_is_open and running


def tamper(child: Child, how: str, rng: np.random.Generator) -> bool:
    """Change the journal under a run, which must rescue its history."""
    path, n_before = child.journal, len(child.rescued())
    with held(child) as holds:
        if not holds:
            return False
        data = path.read_bytes()
        if how == "deleted":
            path.unlink()
        elif how == "replaced":
            draft = path.with_name("copy")
            draft.write_bytes(data[: rng.choice([0, len(data) // 2, len(data)])])
            os.replace(draft, path)
        elif how == "cut":
            os.truncate(path, int(rng.integers(0, len(data))))
        elif how == "overwritten":
            with open(path, "r+b") as file:
                file.seek(int(rng.integers(0, len(data) - 8)))
                file.write(b"\0" * 8)
        else:
            with open(path, "ab") as file:
                file.write(junk(rng))
    wait_for(lambda: child.ended or len(child.rescued()) > n_before, 60.0)
    if len(child.rescued()) == n_before:
        raise AssertionError(f"a journal that was {how} was not noticed")
    child.journal = child.rescued()[-1]
    return True


def fill(child: Child, whom: str, rng: np.random.Generator) -> bool:
    """Fill the disk of the journal until the run has ended."""
    if child.ended or not child.journal.exists():
        return False
    if whom == "limit":
        room = child.journal.stat().st_size + int(rng.integers(0, 600))
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (room, -1))
        child.wait()
    else:
        filler = child.journal.with_name("filler")
        with open(filler, "wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(512))
        child.wait()
        filler.unlink()
    return child.has_said("could not be written")


def junk(rng: np.random.Generator) -> bytes:
    kinds = [
        rng.bytes(int(rng.integers(1, 200))),
        b"".join(rng.bytes(9).replace(b"\n", b"") + b"\n" for _ in range(3)),
        b'{"told": 3, "evaluation": {"value": 0.0}}\n',
        b'{"asked": {"number"',
    ]
    return kinds[rng.integers(len(kinds))]


def tear(path: Path, how: str, rng: np.random.Generator) -> bool:
    """Damage the end of a journal that no run has open: what stands before stays."""
    data = path.read_bytes()
    lines = read(data).lines
    if len(lines) < 4:
        return False
    start = sum(map(len, lines[: max(1, len(lines) - int(rng.integers(1, 7)))]))
    if how == "torn":
        os.truncate(path, int(rng.integers(start, len(data))))
    elif how == "zeroed":
        at = int(rng.integers(start, len(data)))
        path.write_bytes(data[:at] + bytes(len(data) - at))
    else:
        path.write_bytes(data + junk(rng))
    return True


def spoil(path: Path, how: str, rng: np.random.Generator) -> bool:
    """Damage a journal before whole lines: it must be refused, and left alone."""
    lines = read(path.read_bytes()).lines
    if len(lines) < 5:
        return False
    at = int(rng.integers(1, len(lines) - 1))
    if how == "line changed":
        where = int(rng.integers(len(lines[at]) - 1))
        line = bytearray(lines[at])
        line[where] ^= int(rng.integers(1, 256))
        lines[at] = bytes(line)
    elif how == "line left out":
        del lines[at]
    else:
        lines.insert(at, lines[at])
    path.write_bytes(b"".join(lines))
    return True
