# SPDX-License-Identifier: BSD-3-Clause
"""What a journal must hold, for `soak.py`: a reader of its own, and what was told."""

import json
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from _common.soak_program import loss, noted, rows_of
from accsmbo.storage import JournalStorage

SEAL = re.compile(rb',"line":(\d+),"crc":"([0-9a-f]{8})"\}\n?\Z')
Rows = dict[int, list[float]]


class Lines(NamedTuple):
    """The whole lines that a journal begins with, and the rest."""

    lines: list[bytes]
    records: list[dict[str, Any]]
    rest: bytes

    @property
    def told(self) -> set[int]:
        """Numbers of the trials that have a result."""
        return {r["told"] for r in self.records if "told" in r}

    @property
    def run_is_open(self) -> bool:
        """Whether the run that wrote last has something left to write."""
        last = self.records[-1] if self.records else {}
        return not self.rest and not {"asked", "told", "started"}.isdisjoint(last)

    @property
    def damaged(self) -> bytes:
        """The rest, where it must be kept: a line torn by a crash need not be."""
        return self.rest if b"\n" in self.rest or b"\0" in self.rest else b""


def read(data: bytes) -> Lines:
    """Read the bytes of a journal."""
    lines, records, end = [], [], 0
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        seal = SEAL.search(line)
        if not seal or int(seal[1]) != number:
            break
        if zlib.crc32(line[: seal.end(1)]) != int(seal[2], 16):
            break
        lines.append(line)
        records.append(json.loads(line))
        end += len(line)
    return Lines(lines, records, data[end:])


@dataclass
class Model:
    """What one study must have on the disk, and what was found instead."""

    calls: Path
    known: Rows = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    self_lost: int = 0
    where: str = ""

    def add(self, kind: str, n: int, text: str) -> None:
        """Count a problem."""
        self.counts[kind] = self.counts.get(kind, 0) + n
        self.problems.append(f"{kind}, {self.where}: {text}"[:2000])

    def stopped(self, journal: Path, told: Path) -> None:
        """Check a journal after its run has stopped, and take it as what is known."""
        wanted = self.known | dict(noted(told))
        for number, row in self.known.items():
            if wanted[number] != row:
                self.add("changed", 1, f"trial {number}: {row}, told {wanted[number]}")
        found = self.load(journal, wanted)
        lost = [n for n, row in wanted.items() if found.get(n) != row]
        if lost:
            self.add("lost", len(lost), f"trials {lost} of {journal.name}")
        self._check_values({n: r for n, r in found.items() if n not in self.known})
        self.known = found

    def load(self, journal: Path, wanted: Rows) -> Rows:
        """Return what the library reads."""
        try:
            history = JournalStorage(journal).load()
        except (FileNotFoundError, ValueError) as error:
            if wanted:
                self.add("lost", len(wanted), f"load(): {error}")
            return {}
        rows = rows_of(history)
        twice = len(history) - len({tuple(row[:2]) for row in rows.values()})
        if twice:
            self.add("doubled", twice, f"{len(history)} trials in {journal.name}")
        return rows

    def _check_values(self, rows: Rows) -> None:
        called = {tuple(row) for row in noted(self.calls)}
        for number, row in rows.items():
            if row[2] != loss(*row[:2]) or tuple(row) not in called:
                self.add("wrong values", 1, f"trial {number}: {row}")

    def damaged(self, journal: Path) -> None:
        """Take what the study itself has damaged off what must be there."""
        told = read(journal.read_bytes()).told
        kept = {n: row for n, row in self.known.items() if n in told}
        self.self_lost += len(self.known) - len(kept)
        self.known = kept
        found = self.load(journal, self.known)
        if found != self.known:
            self.add("lost", 1, f"{len(found)} of {len(told)} trials before a damage")

    def finished(self, n_trials: int, result: Path, unbroken: Rows | None) -> None:
        """Check a study that has come to its end."""
        rows = dict(json.loads(result.read_text()))
        if sorted(rows) != list(range(n_trials)):
            self.add("lost", 1, f"trials {sorted(rows)} of {n_trials} at the end")
        if rows != self.known:
            self.add("changed", 1, "the history in memory is not that on the disk")
        if unbroken is not None and rows != unbroken:
            self.add("changed", 1, "the history is not that of an unbroken run")
