# SPDX-License-Identifier: BSD-3-Clause
"""A file -> the records of a journal, a torn last line left out."""

import json
from pathlib import Path
from typing import Any

__all__ = ["FORMAT_VERSION", "MAGIC", "checked_header", "read_records"]

# Raised whenever an older accsmbo could misread a new journal.
FORMAT_VERSION = 1
MAGIC = "accsmbo_journal"


def read_records(
    path: Path, *, header_only: bool = False
) -> tuple[list[dict[str, Any]], int]:
    """Return the records and the length in bytes of the part that holds them.

    Parameters
    ----------
    path : Path
        The file.
    header_only : bool, default=False
        Read no further than the first line.

    Returns
    -------
    records : list of dict
        The header first; empty for an empty file.
    end : int
        Where a torn last line begins, else the length of the file.

    Raises
    ------
    ValueError
        If the file is no journal, or damaged before its last line.
    """
    records: list[dict[str, Any]] = []
    end, bad = 0, 0
    with open(path, "rb") as file:
        data = file.readline() if header_only else file.read()
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        record = _parse(line)
        if record is None:
            if number == 1 and not _is_torn_header(line):
                _raise_no_journal(path)
            bad = bad or number
        elif bad:
            raise ValueError(
                f"storage must be a whole journal, got {str(path)!r}, whose line {bad} "
                "cannot be read though whole lines follow. Restore the file, or delete "
                "that line."
            )
        else:
            records.append(record)
            end += len(line)
    return records, end


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _is_torn_header(line: bytes) -> bool:
    start = b'{"' + MAGIC.encode() + b'":'
    return line.startswith(start) or start.startswith(line.rstrip(b"\0"))


def _raise_no_journal(path: Path) -> None:
    raise ValueError(
        f"storage must be the path of a journal or of no file yet, got {str(path)!r}, "
        "whose first line is not the header of an accsmbo journal. Give another path."
    )


def checked_header(records: list[dict[str, Any]], path: Path) -> dict[str, Any]:
    """Return the header among the records of a journal.

    Parameters
    ----------
    records : list of dict
        All of it.
    path : Path
        The file, for messages.

    Returns
    -------
    dict
        The first record.

    Raises
    ------
    ValueError
        If there is none, or it is that of a newer format.
    """
    if not records or MAGIC not in records[0]:
        _raise_no_journal(path)
    if records[0][MAGIC] > FORMAT_VERSION:
        raise ValueError(
            f"storage must be a journal of format {FORMAT_VERSION} or older, got "
            f"{str(path)!r} of format {records[0][MAGIC]}. Update accsmbo."
        )
    return records[0]
