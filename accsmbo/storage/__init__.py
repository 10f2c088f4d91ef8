# SPDX-License-Identifier: BSD-3-Clause
"""Histories on disk: a journal of JSON lines, one study a file."""

from accsmbo.storage._journal import Journal
from accsmbo.storage._journal_storage import JournalStorage
from accsmbo.storage._reading import FORMAT_VERSION
from accsmbo.storage._status import JournalStatus
from accsmbo.storage._values import Opaque

__all__ = [
    "FORMAT_VERSION",
    "Journal",
    "JournalStatus",
    "JournalStorage",
    "Opaque",
]
