# SPDX-License-Identifier: BSD-3-Clause
"""Waiting for processes, and what state they are in."""

import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


def wait_for(condition, seconds=40.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def state_of(pid):
    """Return the state letter of a process; None: it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def ended(pid):
    """Whether a process is gone (a zombie is: nobody may collect it here)."""
    return state_of(pid) in ("Z", None)
