# SPDX-License-Identifier: BSD-3-Clause
"""describe: lines that fit the terminal, safe, with all that is known."""

import pytest

from accsmbo import Real
from accsmbo.history import Evaluation, History, Span
from accsmbo.report import describe
from accsmbo.report._charts import worker_lines
from tests.inspection._studies import hard_history, run_random


@pytest.mark.parametrize("width", [40, 80, 132])
def test_lines_fit_the_width(width):
    text = describe(hard_history(), width=width)
    assert max(map(len, text.splitlines())) <= width
    for heading in (
        "Best loss (smaller is better)",
        "Convergence",
        "Importance",
        "What the surrogate believes",
        "Workers",
        "Failures",
    ):
        assert f"\n{heading}\n" in text
    assert "1 x ValueError: <script>no</script>" in text


def test_the_best_come_first_with_their_parameters():
    history = run_random({"x": Real(0, 1)}, lambda p: p["x"], 20)
    lines = describe(history).splitlines()
    start = lines.index("Best loss (smaller is better)") + 1
    best = history.best[0]
    assert f"trial {best.number}: x=" in lines[start]
    assert "History: 20 trials" in lines[0]


def test_the_chart_falls_to_the_best_value():
    history = run_random({"x": Real(0, 1)}, lambda p: p["x"], 20)
    lines = describe(history).splitlines()
    start = lines.index("Convergence") + 1
    chart = [line.partition("|")[2] for line in lines[start : start + 8]]
    assert chart[0].startswith("█")
    assert len(chart[7]) == 20
    assert sum(row.count("█") for row in chart) == 20


@pytest.mark.parametrize(
    ("n", "foot"), [(4, "trials 1 to 4"), (8, "trials 1 to 8"), (9, "trial 1 9")]
)
def test_the_chart_names_its_ends_also_where_it_is_short(n, foot):
    text = describe(run_random({"x": Real(0, 1)}, lambda p: p["x"], n))
    assert foot in [line.strip() for line in text.splitlines()]


def section(text, heading):
    lines = text.splitlines()
    start = lines.index(heading) + 1
    return lines[start : lines.index("", start) if "" in lines[start:] else None]


def test_slices_are_low_where_the_loss_is():
    space = {"x": Real(0, 1), "y": Real(0, 1), "k": ["a", "b"]}
    history = run_random(
        space, lambda p: (p["x"] - 0.75) ** 2 + 0.05 * (p["k"] == "b"), 30
    )
    lines = section(describe(history), "What the surrogate believes")
    name, low, bars, high = lines[1].split()
    assert (name, low, high, len(bars)) == ("x", "0", "1", 40)
    assert bars[0] == "█"
    assert bars[30] == "▁"
    assert "▄" in bars or "▅" in bars
    by_name = {line.split()[0]: line.split()[1:] for line in lines[2:4]}
    assert by_name["k"][0] == "a"
    assert by_name["k"][2] == "b"
    assert len(by_name["k"][1]) == 2
    assert set(by_name["y"][1]) <= {"▁", "▂"}
    assert lines[4].startswith("  ▁ is ")


def test_workers_are_shown_busy_when_they_were():
    spans = [Span(0, 10.0, 30.0), Span(1, 10.0, 20.0), Span(3, 29.0, 30.0)]
    lines = worker_lines(spans, 56)
    assert lines[0].split() == ["0", "100%", "█" * 40]
    assert lines[1].split() == ["1", "50%", "█" * 20]
    assert lines[2] == "     3    5%  " + " " * 38 + "██"
    many = [Span(k, 0.0, 1.0) for k in range(30)]
    assert worker_lines(many, 80)[-1] == "  ... and 6 more"


def test_plain_characters_on_request():
    text = describe(hard_history(), unicode=False)
    assert text.isascii()
    assert "####" in text


def test_headings_are_bold_only_where_asked():
    assert "\x1b[1mConvergence\x1b[0m" in describe(hard_history(), styled=True)
    assert "\x1b" not in describe(hard_history())


def test_nothing_in_a_history_reaches_the_terminal_as_a_command():
    name = "x\x1b]0;owned\x07\u202e"
    history = run_random({name: Real(0, 1), "c": ["\x9b2J", "b"]}, lambda p: 1.0, 5)
    history.append(history.trials[0], Evaluation(error="boom\x1b[2J\nlast\rline\x08"))
    text = describe(history, title="t\x1b[2J")
    assert text.replace("\n", "").isprintable()
    assert r"x\x1b]0;owned\x07\u202e" in text


def test_empty_failed_and_flat_histories():
    assert describe(History(), title="nothing") == "nothing: 0 trials\n"
    failed = run_random({"x": Real(0, 1)}, lambda p: 1.0, 3, fails=lambda p: True)
    text = describe(failed)
    assert "3 trials, 3 failed" in text
    assert "no trial has been evaluated in full and succeeded" in text
    assert "no surrogate yet" in text
    flat = run_random({"x": Real(0, 1)}, lambda p: 2.0, 4)
    assert "2 |████" in describe(flat)
