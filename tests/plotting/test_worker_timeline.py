# SPDX-License-Identifier: BSD-3-Clause
"""The timeline shows each fold once, on its worker, at its time."""

import pytest

from accsmbo.history import Evaluation, History, Span
from accsmbo.optimizers import RandomSearch
from accsmbo.plotting import WorkerTimelineDisplay


def history_of(*evaluations):
    optimizer = RandomSearch({"x": [1, 2, 3, 4]}, random_state=0)
    for evaluation in evaluations:
        optimizer.tell(optimizer.ask(), evaluation)
    return optimizer.history


def test_bars_are_where_and_when_folds_ran():
    history = history_of(
        Evaluation(value=1.0, spans=(Span(0, 10.0, 11.0), Span(1, 10.0, 12.0))),
        Evaluation(error="lost", spans=(Span(0, 11.0, 14.0),)),
    )
    display = WorkerTimelineDisplay.from_history(history)
    boxes = [(b.get_x(), b.get_width()) for b in display.bars_]
    assert boxes == [(0.0, 1.0), (0.0, 2.0), (1.0, 3.0)]
    middles = [b.get_y() + b.get_height() / 2 for b in display.bars_]
    assert middles == pytest.approx([0, 1, 0])
    assert [b.get_hatch() for b in display.bars_] == [None, None, "///"]
    assert display.busy == 6.0 / 8.0
    assert display.ax_.get_title() == "busy 75% of the time"
    again = display.plot(ax=display.ax_)
    assert again.figure_ is display.ax_.figure


def test_a_history_without_spans_is_refused():
    with pytest.raises(ValueError, match="no evaluation has spans"):
        WorkerTimelineDisplay.from_history(history_of(Evaluation(value=1.0)))
    with pytest.raises(ValueError, match="no evaluation has spans"):
        WorkerTimelineDisplay.from_history(History())
