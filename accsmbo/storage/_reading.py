# SPDX-License-Identifier: BSD-3-Clause
"""Lines of a journal <-> records: sealed by number and checksum, bounded, told apart.

A record is sealed by its line number and the CRC-32 of all that stands before the
checksum, so that a line that is changed, missing, doubled or out of its place is seen.
A line without a newline at the end of the file was torn by a crash; any other line that
cannot be read is damage, which is never dropped in silence.
"""

import contextlib
import itertools
import json
import math
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from accsmbo._files import check_regular
from accsmbo._warnings import warn_user
from accsmbo.exceptions import JournalDamaged, JournalWarning

__all__ = [
    "BROKEN",
    "FORMAT_VERSION",
    "MAGIC",
    "MAX_LINE",
    "Content",
    "decoding",
    "read_records",
    "sealed",
    "warn_of_damage",
]

# Raised whenever an older accsmbo could misread a new journal. From 2 on each line must
# be sealed.
FORMAT_VERSION = 2
MAGIC = "accsmbo_journal"
# Bytes of a line. The longest are predictions of many rows; JSON of other kinds takes
# up to twenty times as much memory as text.
MAX_LINE = 2**26
# Digits of an integer: a longer one is no float.
MAX_DIGITS = 308
SEAL = re.compile(rb',"line":([1-9][0-9]{0,11}),"crc":"([0-9a-f]{8})"\}\s*\Z')
# All that decoding unknown content may raise.
BROKEN = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)


class Content(NamedTuple):
    """What a journal holds.

    Attributes
    ----------
    records : list of dict
        The header first; empty for an empty file. A record's place is its line, from 0.
    end : int
        Length in bytes of the part that holds them.
    n_damaged : int
        Lines that cannot be read behind that; a torn last line is none.
    """

    records: list[dict[str, Any]]
    end: int
    n_damaged: int


def sealed(record: dict[str, Any], number: int) -> bytes:
    """Return the line of a record.

    Parameters
    ----------
    record : dict
        In JSON kinds, not empty.
    number : int
        Of the line, from 1.

    Returns
    -------
    bytes
        With the newline.
    """
    text = json.dumps(record, allow_nan=False, separators=(",", ":"))
    body = f'{text[:-1]},"line":{number}'.encode()
    return b'%b,"crc":"%08x"}\n' % (body, zlib.crc32(body))


def read_records(
    path: Path, *, header_only: bool = False, may_be_empty: bool = False
) -> Content:
    """Return the records of a journal; its header is checked.

    Parameters
    ----------
    path : Path
        The file.
    header_only : bool, default=False
        Read no further than the first line.
    may_be_empty : bool, default=False
        Whether a file without a header is one, as a crash may leave it.

    Returns
    -------
    Content
        All up to a torn last line, or to damage that nothing whole follows.

    Raises
    ------
    ValueError
        If the file is no journal, or one of a newer format.
    JournalDamaged
        If whole lines follow one that cannot be read, or a line is out of its place.
    """
    check_regular(path, "storage")
    records: list[dict[str, Any]] = []
    end = n_damaged = version = 0
    first: JournalDamaged | None = None
    for number, line in _lines(path, 1 if header_only else None):
        try:
            record, place = _unseal(line, version)
            if number == 1:
                version = _version(record, place)
        except BROKEN as error:
            if number == 1 and not _is_header(line):
                _raise_no_journal(path)
            first = first or _damaged(path, number, error)
            n_damaged += line.endswith(b"\n") or b"\0" in line
            continue
        if first is not None:
            raise first
        if version > FORMAT_VERSION:
            _raise_newer(path, version)
        if place not in (None, number):
            raise _damaged(path, number, ValueError(f"it is that of line {place}"))
        records.append(record)
        end += len(line)
    if not records and n_damaged and first is not None:
        raise first
    if not records and not may_be_empty:
        _raise_no_journal(path)
    return Content(records, end, n_damaged)


def warn_of_damage(path: Path, content: Content, kept: str) -> None:
    """Say that the end of a journal is damaged, if it is.

    Parameters
    ----------
    path : Path
        The file.
    content : Content
        What was read of it.
    kept : str
        Where the damaged lines are, as a sentence.
    """
    if content.n_damaged:
        n = content.n_damaged
        lines = "line that cannot" if n == 1 else "lines that cannot"
        warn_user(
            f"the journal {str(path)!r} ends in {n} {lines} be read, from line "
            f"{len(content.records) + 1} on; what stands before is taken. {kept}",
            JournalWarning,
        )


@contextlib.contextmanager
def decoding(path: Path, number: int) -> Iterator[None]:
    """Turn what decoding a line raises into the one error that names it.

    Parameters
    ----------
    path : Path
        The journal.
    number : int
        Of the line, from 1.

    Raises
    ------
    JournalDamaged
        Whatever else the body raised.
    """
    try:
        yield
    except JournalDamaged:
        raise
    except BROKEN as error:
        raise _damaged(path, number, error) from error


def _damaged(path: Path, number: int, error: BaseException) -> JournalDamaged:
    # What a file holds must not reach a terminal as a command.
    kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
    why = repr(f"{kind}{error}"[:200])[1:-1]
    return JournalDamaged(
        f"storage must be a whole journal, got {str(path)!r}, whose line {number} "
        f"cannot be read ({why}). Restore the file, or keep the {number - 1} lines "
        "before it in another and go on with that."
    )


def _lines(path: Path, limit: int | None) -> Iterator[tuple[int, bytes]]:
    """Yield lines with their numbers; no more than one is in memory."""
    with open(path, "rb") as file:
        for number in itertools.count(1):
            line = file.readline(MAX_LINE + 1)
            if not line or number - 1 == limit:
                return
            if len(line) > MAX_LINE:
                if number == 1 and not _is_header(line):
                    _raise_no_journal(path)
                raise _damaged(path, number, ValueError(f"over {MAX_LINE} bytes"))
            yield number, line


def _unseal(line: bytes, version: int) -> tuple[dict[str, Any], int | None]:
    """Return a record and the line it was written as; ValueError where it is none."""
    seal, place = SEAL.search(line[-60:]), None
    if seal is not None:
        body = memoryview(line)[: len(line) - len(line[-60:]) + seal.end(1)]
        place = int(seal[1])
        if zlib.crc32(body) != int(seal[2], 16):
            raise ValueError("its checksum is another")
    elif version > 1:
        raise ValueError("it has no checksum")
    record = DECODER.decode(line.decode())
    if not isinstance(record, dict):
        raise TypeError("it is no record")
    return record, place


def _version(header: dict[str, Any], place: int | None) -> int:
    version = header[MAGIC]
    if type(version) is not int or version < 1:
        raise TypeError("the format must be a number")
    if version == FORMAT_VERSION and place is None:
        raise ValueError("it has no checksum")
    return version


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise OverflowError("a number is too large")
    return number


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise OverflowError("a number is too large")
    return int(text)


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number in JSON")


DECODER = json.JSONDecoder(
    parse_float=_finite, parse_int=_integer, parse_constant=_no_constant
)


def _is_header(line: bytes) -> bool:
    """Tell whether a line begins as a header does, or ends within that beginning."""
    start = b'{"' + MAGIC.encode() + b'":'
    return line.startswith(start) or start.startswith(line.rstrip(b"\0"))


def _raise_newer(path: Path, version: int) -> NoReturn:
    raise ValueError(
        f"storage must be a journal of format {FORMAT_VERSION} or older, got "
        f"{str(path)!r} of format {version}. Update accsmbo."
    )


def _raise_no_journal(path: Path) -> NoReturn:
    raise ValueError(
        f"storage must be the path of a journal or of no file yet, got {str(path)!r}, "
        "whose first line is not the header of an accsmbo journal. Give another path."
    )
