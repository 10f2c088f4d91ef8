# SPDX-License-Identifier: BSD-3-Clause
"""Journals that tests change: records taken out and put back with their seals."""

import json

from accsmbo.storage._reading import sealed


def records_in(path):
    """Return the records of a journal as they were before they were sealed."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return [
        {key: value for key, value in record.items() if key not in ("line", "crc")}
        for record in records
    ]


def rewrite(path, records):
    """Write a journal of some records, each sealed for its place."""
    path.write_bytes(b"".join(sealed(r, number) for number, r in enumerate(records, 1)))


def as_version_1(path):
    """Make a journal one that an accsmbo without checksums wrote."""
    header, *records = records_in(path)
    lines = [json.dumps(r) for r in [header | {"accsmbo_journal": 1}, *records]]
    path.write_text("\n".join(lines) + "\n")
