# SPDX-License-Identifier: BSD-3-Clause
"""Plots are drawn without a screen and closed after each test."""

import pytest


@pytest.fixture(autouse=True)
def _no_screen():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")
