# SPDX-License-Identifier: BSD-3-Clause
"""Whether faults lose or double a trial, or leave processes or files behind.

Searches and `minimize` runs with a journal, in programs of their own and with one to
three workers, under faults that are drawn from a seed: killed and stopped processes,
interrupts, full disks, journals that are torn between runs or changed under a run. Each
study is resumed until it is finished. After each stop a model says what must be on the
disk: all that was told, but for the lines that this study has damaged itself. Linux; a
small file system is mounted where that is allowed.

    python soak.py --minutes 30 --seed 0 --out ../results/soak.json

`--case K` plays one case again; its faults are drawn as before, and hit as they come.
"""

import argparse
import collections
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _common import soak_faults as faults
from _common.results import environment
from _common.soak_model import Model, read
from _common.soak_program import noted, rows_of, run

from accsmbo.storage import JournalStorage

Draw = tuple[str, Callable[..., bool], str]
# Faults that a run survives.
PARALLEL: list[Draw] = [
    ("SIGKILL of a worker", faults.kill, "worker"),
    ("SIGKILL of a worker", faults.kill, "worker"),
    ("SIGKILL of the template", faults.kill, "template"),
    ("SIGSTOP, SIGCONT of a worker", faults.pause, "worker"),
    ("SIGSTOP, SIGCONT of the template", faults.pause, "template"),
]
ANY: list[Draw] = [
    ("SIGSTOP, SIGCONT of the parent", faults.pause, "parent"),
    ("second run on the journal", faults.second, ""),
    ("journal deleted under a run", faults.tamper, "deleted"),
    ("journal replaced under a run", faults.tamper, "replaced"),
    ("journal cut under a run", faults.tamper, "cut"),
    ("journal written to under a run", faults.tamper, "written to"),
    ("journal overwritten under a run", faults.tamper, "overwritten"),
]
# Those that end it.
LAST: list[Draw] = [
    ("SIGKILL of the parent", faults.kill, "parent"),
    ("SIGKILL of the parent, stopped", faults.kill_with_stopped, "parent"),
    ("SIGINT of the parent", faults.interrupt, "SIGINT"),
    ("SIGINT of the parent, twice", faults.interrupt, "SIGINT twice"),
    ("SIGINT of the parent's group", faults.interrupt, "SIGINT group"),
    ("SIGTERM of the parent", faults.interrupt, "SIGTERM"),
    ("file size limit reached", faults.fill, "limit"),
]
LAST_PARALLEL: list[Draw] = [
    ("SIGKILL of the parent, a worker stopped", faults.kill_with_stopped, "worker"),
    (
        "SIGKILL of the parent, the template stopped",
        faults.kill_with_stopped,
        "template",
    ),
]
FULL: Draw = ("full disk", faults.fill, "disk")
TORN = ("torn", "zeroed", "junk appended")
SPOILED = ("line changed", "line left out", "line doubled")
INTERRUPTED = (0, 1, 130, -signal.SIGINT, -signal.SIGTERM)
MAX_BROKEN_RUNS = 6
ORPHAN_SECONDS = 10.0


class Case:
    """One study, run under faults until it is finished."""

    def __init__(self, folder: Path, seed: int, number: int) -> None:
        self.rng = rng = np.random.default_rng([seed, number])
        self.folder = folder
        self.mounted = rng.random() < 0.3 and mounted(folder / "disk")
        place = folder / ("disk" if self.mounted else "plain")
        place.mkdir(exist_ok=True)
        self.config: dict[str, Any] = {
            "kind": str(rng.choice(["minimize", "search"])),
            "optimizer": str(rng.choice(["SMBO", "random"])),
            "n_jobs": int(rng.integers(1, 4)),
            "n_trials": int(rng.integers(25, 60)),
            "seed": int(rng.integers(1000)),
            "seconds": float(rng.uniform(0.02, 0.15)),
            "calls": str(folder / "calls"),
            "storage": str(place / "study.jsonl"),
        }
        self.model = Model(folder / "calls")
        self.faults: collections.Counter[str] = collections.Counter()
        self.n_runs = 0
        self.tail = b""

    @property
    def journal(self) -> Path:
        return Path(self.config["storage"])

    def play(self, end: float) -> None:
        """Run until the study is finished; without faults in the last run."""
        for _ in range(MAX_BROKEN_RUNS):
            if self.finished or self.model.problems or time.monotonic() > end:
                break
            self.run(self.draw())
            if not self.finished:
                self.damage()
        if not self.model.problems:
            self.finish(self.run([]))

    @property
    def finished(self) -> bool:
        """Whether all results are on the disk."""
        return len(self.model.known) == self.config["n_trials"]

    def finish(self, child: faults.Child) -> None:
        """Check the study after a run without faults."""
        if not child.result.exists():
            return
        unbroken = None
        if self.config["n_jobs"] == 1:
            alone = {"storage": None, "seconds": 0.0, "calls": os.devnull}
            unbroken = rows_of(run(self.config | alone))
        self.model.finished(self.config["n_trials"], child.result, unbroken)

    def draw(self) -> list[Draw]:
        """Return the faults of one run."""
        parallel = self.config["n_jobs"] > 1
        survived, last = (
            ANY + PARALLEL * (2 * parallel),
            LAST + LAST_PARALLEL * parallel,
        )
        if self.mounted:
            last = last + [FULL] * 3
        plan = [survived[i] for i in self.rng.integers(len(survived), size=4)]
        plan = plan[: self.rng.integers(1, 5)]
        if self.rng.random() < 0.9:
            plan.append(last[self.rng.integers(len(last))])
        return plan

    def run(self, plan: list[Draw]) -> faults.Child:
        """Run the study once, under faults."""
        child = faults.Child(self.folder / f"run-{self.n_runs}", self.config)
        self.model.where = f"run {self.n_runs} of {[name for name, *_ in plan]}"
        self.n_runs += 1
        size = self.journal.stat().st_size if self.journal.exists() else 0
        # Some hit a program that still imports.
        if self.rng.random() < 0.9:
            faults.wait_for(lambda: child.ended or self.has_grown(size), 60.0)
        applied = []
        for name, fault, whom in plan:
            time.sleep(self.rng.uniform(0.0, 0.5))
            try:
                if not child.ended and fault(child, whom, self.rng):
                    self.faults[name] += 1
                    applied.append(name)
            except AssertionError as error:
                self.model.add("unnoticed", 1, f"{name}: {error}")
        child.wait()
        self.config["storage"] = str(child.journal)
        self.check(child, applied)
        return child

    def has_grown(self, size: int) -> bool:
        with contextlib.suppress(FileNotFoundError):
            return self.journal.stat().st_size > size
        return False

    def check(self, child: faults.Child, applied: list[str]) -> None:
        """Check what a run that has stopped left."""
        model = self.model
        if child.hung:
            model.add("hung", 1, child.errors.read_text()[-1500:])
        if not faults.wait_for(lambda: not faults.marked(child.mark), ORPHAN_SECONDS):
            pids = faults.marked(child.mark)
            lines = [f"{pid} {faults.state_of(pid)}" for pid in pids]
            model.add("orphans", len(pids), ", ".join(lines))
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        left = [str(p.relative_to(child.tmp)) for p in child.tmp.rglob("*")]
        folder = self.journal.parent
        left += [p.name for p in folder.iterdir() if not p.name.startswith("study.")]
        if left:
            model.add("files left", len(left), ", ".join(left))
        model.stopped(self.journal, child.told)
        self.check_tail(child)
        self.check_end(child, applied)

    def check_tail(self, child: faults.Child) -> None:
        """Check that a damaged end is kept, and said, once a run has opened it."""
        beside = self.journal.parent.glob("*.damaged*")
        kept = self.tail in {path.read_bytes() for path in beside}
        there = self.journal.exists() and self.journal.read_bytes().endswith(self.tail)
        if self.tail and not kept and not there:
            self.model.add("lost", 1, f"the damaged end {self.tail!r}")
        if self.tail and child.result.exists() and not child.has_said("be read, from"):
            self.model.add("unsaid", 1, "that the end of the journal was damaged")
        if kept:
            self.tail = b""

    def check_end(self, child: faults.Child, applied: list[str]) -> None:
        """Check how a run ended, and what the journal says of that."""
        code, text = child.process.returncode, child.errors.read_text()[-1500:]
        interrupted = any(n.startswith(("SIGINT", "SIGTERM")) for n in applied)
        killed = any(n.startswith("SIGKILL of the parent") for n in applied)
        if code not in (INTERRUPTED if interrupted else (-9,) if killed else (0,)):
            self.model.add("errors", 1, f"exit code {code}: {text}")
        if self.model.known and not killed:
            status = JournalStorage(self.journal).status()
            reasons = {"budget", "interrupted"} if interrupted else {"budget"}
            said = code != 0 or child.has_said("could not be written")
            if status.state == "running" or not (said or status.reason in reasons):
                self.model.add("errors", 1, f"status {status}")

    def damage(self) -> None:
        """Damage the journal between two runs, now and then."""
        choice = self.rng.random()
        if choice > 0.8 or self.tail or not self.journal.exists():
            return
        how = TORN[self.rng.integers(3)]
        if choice < 0.2:
            self.spoil(SPOILED[self.rng.integers(3)])
        elif faults.tear(self.journal, how, self.rng):
            self.faults[f"journal {how} between runs"] += 1
            self.tail = read(self.journal.read_bytes()).damaged
            self.model.damaged(self.journal)

    def spoil(self, how: str) -> None:
        """Damage a journal so that it must be refused; then mend it."""
        whole = self.journal.read_bytes()
        if not faults.spoil(self.journal, how, self.rng):
            return
        self.faults[f"journal with a {how}"] += 1
        spoiled = self.journal.read_bytes()
        child = faults.Child(self.folder / f"run-{self.n_runs}", self.config)
        self.n_runs += 1
        child.wait()
        refused = "JournalDamaged: storage must be" in child.errors.read_text()
        if not refused or self.journal.read_bytes() != spoiled:
            self.model.add("unnoticed", 1, how)
        self.journal.write_bytes(whole)

    def row(self, number: int) -> dict[str, Any]:
        """Return what the result file keeps of this case."""
        names = ("kind", "optimizer", "n_jobs", "n_trials")
        return {
            "case": number,
            **{name: self.config[name] for name in names},
            "runs": self.n_runs,
            "calls": len(noted(self.config["calls"])),
            "self_lost": self.model.self_lost,
            "faults": dict(self.faults),
            "problems": self.model.problems,
        }


def mounted(folder: Path) -> bool:
    """Mount a small file system, where that is allowed."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def case_of(root: Path, seed: int, number: int, *, keep: bool) -> Iterator[Case]:
    """Make a case with a folder that is removed again, unless it has problems."""
    folder = root / f"case-{number}"
    folder.mkdir()
    case = Case(folder, seed, number)
    try:
        yield case
    finally:
        if keep and case.model.problems:
            shutil.copytree(folder, folder.with_name(f"{folder.name}-kept"))
        if case.mounted:
            subprocess.run(["umount", str(folder / "disk")], check=True)
        shutil.rmtree(folder)


def summary(cases: list[Case]) -> dict[str, Any]:
    """Return the counts over all cases."""
    counts = collections.Counter(
        dict.fromkeys(("lost", "doubled", "orphans", "files left"), 0)
    )
    by_kind: collections.Counter[str] = collections.Counter()
    for case in cases:
        counts.update(case.model.counts)
        by_kind.update(case.faults)
    return {
        "n_faults": by_kind.total(),
        "n_studies": len(cases),
        "n_runs": sum(case.n_runs for case in cases),
        "n_trials": sum(case.config["n_trials"] for case in cases),
        "trials_that_the_study_cut_off": sum(c.model.self_lost for c in cases),
        "found": dict(counts),
        "faults": dict(sorted(by_kind.items())),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int)
    parser.add_argument("--keep", action="store_true", help="folders with problems")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    end = time.monotonic() + 60.0 * arguments.minutes
    root = Path(tempfile.mkdtemp(prefix="soak-"))
    cases: list[Case] = []
    while time.monotonic() < end and not (cases and arguments.case is not None):
        number = len(cases) if arguments.case is None else arguments.case
        with case_of(root, arguments.seed, number, keep=arguments.keep) as case:
            case.play(end)
            cases.append(case)
        result = summary(cases)
        print(
            number,
            result["n_faults"],
            result["found"],
            *case.model.problems,
            sep="\n    ",
            flush=True,
        )
    if not any(root.iterdir()):
        root.rmdir()
    first = 0 if arguments.case is None else arguments.case
    result = {
        "environment": environment([], [arguments.seed]),
        "minutes": arguments.minutes,
        **summary(cases),
        "cases": [case.row(first + i) for i, case in enumerate(cases)],
    }
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1) + "\n")
    else:
        print(json.dumps(summary(cases), indent=1))


if __name__ == "__main__":
    main()
