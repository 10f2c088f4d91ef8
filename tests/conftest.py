# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures for tests of several folders."""

import signal

import pytest


@pytest.fixture
def ctrl_c():
    """Let SIGINT interrupt this process and those it starts.

    Under nohup, in the background of a script and in the workers of pytest-xdist it is
    ignored, which child processes inherit.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
