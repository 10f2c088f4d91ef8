# SPDX-License-Identifier: BSD-3-Clause
"""Convergence on the study of the l2 penalty, as in the paper's figures 6 and 7."""

from pathlib import Path
from typing import Any

import numpy as np

from _common.l2_curves import SPLITS
from accsmbo.plotting import ConvergenceDisplay

LEAST_GAP = 1e-6
LINE_STYLES, MARKERS = ("-", "--", "-.", ":"), ("o", "s", "^", "D", "v", "P", "X")


def draw(runs: list[dict[str, Any]], path: Path) -> None:
    """Draw the newest rows of each data set: by evaluations above, by seconds below."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    rows = {
        (row["dataset"], "seconds" in row, row["method"]): row
        for run in runs
        for row in run["rows"]
        if "course" in row
    }
    present = {dataset for dataset, *_ in rows}
    names = [name for name in SPLITS if name in present]
    figure, axes = plt.subplots(
        2,
        len(names),
        figsize=(4.6 * len(names), 8.2),
        layout="constrained",
        squeeze=False,
    )
    for column, dataset in enumerate(names):
        for line, timed in enumerate((False, True)):
            found = {
                m: row for (d, t, m), row in rows.items() if (d, t) == (dataset, timed)
            }
            ax = axes[line, column]
            if not found:
                ax.set_axis_off()
                continue
            if timed:
                _by_seconds(ax, found)
            else:
                _by_evaluations(ax, found)
            ax.axhline(1e-3, color="0.6", linewidth=0.8, zorder=0)
            ax.set(title=dataset, yscale="log", ylabel="Loss above the least, relative")
            ax.legend(fontsize="x-small")
    figure.savefig(path, dpi=75)


def _by_evaluations(ax: Any, rows: dict[str, Any]) -> None:
    curves = {m: np.maximum([row["course"]], LEAST_GAP) for m, row in rows.items()}
    ConvergenceDisplay(curves, value_name="relative gap").plot(ax=ax)


def _by_seconds(ax: Any, rows: dict[str, Any]) -> None:
    for i, (method, row) in enumerate(rows.items()):
        ax.plot(
            row["seconds"],
            np.maximum(row["course"], LEAST_GAP),
            drawstyle="steps-post",
            linestyle=LINE_STYLES[i % len(LINE_STYLES)],
            marker=MARKERS[i % len(MARKERS)],
            markersize=4,
            label=method,
        )
    ax.set(xlabel="Seconds of the processor", xscale="log")
    ax.xaxis.set_minor_formatter("")
