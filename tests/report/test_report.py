# SPDX-License-Identifier: BSD-3-Clause
"""write_report: what the page holds, that it is whole and safe, and watching."""

import itertools
import re
import subprocess
import sys
import warnings
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from accsmbo import JournalStorage, Real, Space, minimize
from accsmbo.history import Evaluation, History, Span
from accsmbo.optimizers import RandomSearch
from accsmbo.report import _figures, describe, watch_report, write_report
from accsmbo.report._charts import worker_lines
from accsmbo.report._figures import N_DRAWN, drawn
from accsmbo.report._html import Markup, element
from accsmbo.report._page import duration
from accsmbo.report._summary import read_study, summarize
from tests._journals import records_in, rewrite
from tests.inspection._studies import LONG, hard_history, run_random

pytest.importorskip("matplotlib")

EVIL = "<script>window.hacked=1</script>"
EVIL_NAME = f'{EVIL}"><img src=x onerror=alert(1)>\x1b[2J\u202e'
EVIL_SPACE = {
    EVIL_NAME: Real(0, 1),
    "k": [f"{EVIL}'", 'a" onload="x', "plain\x1b[31m\u202e"],
}
VOID = {"meta", "br", "hr", "link", "img", "input", "wbr"}


class Page(HTMLParser):
    """Collects elements and text, and checks that elements are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text, self._open = [], [], "", []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, key, value or "") for key, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, key, value or "") for key, value in attrs]

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.text += data


def page_of(history, tmp_path, **options):
    path = write_report(history, tmp_path / "report.html", **options)
    text = path.read_text(encoding="utf-8")
    return text, Page(text)


def evil_history():
    history = run_random(
        EVIL_SPACE, lambda p: p[next(iter(EVIL_SPACE))], 12, fails=lambda p: False
    )
    trial = replace(history.trials[0], number=12)
    history.append(trial, Evaluation(error=f"Traceback\n  {EVIL}\nError: {EVIL}\x07"))
    return history


@pytest.fixture(scope="module")
def hard_page(tmp_path_factory):
    return page_of(hard_history(), tmp_path_factory.mktemp("report"))


def test_all_sections_are_there(hard_page):
    text, page = hard_page
    for heading in (
        "Best candidates",
        "Convergence",
        "Which parameters matter",
        "What the surrogate believes",
        "All trials",
        "Workers",
        "Failures",
    ):
        assert f"<h2>{heading}</h2>" in text
    # Convergence, importance, 6 + 2 slices, 2 x 2 contours, trials, workers.
    assert page.tags.count("svg") == 16
    assert LONG in page.text
    assert "ValueError: <script>no</script>" in page.text
    best = min(hard_history(), key=lambda r: r[1].value if r[1].value else 9)[1].value
    assert f"{best:.5g}" in page.text


def test_nothing_comes_from_outside_and_nothing_runs(hard_page):
    _, page = hard_page
    assert not {"script", "link", "img", "iframe", "object", "base"} & set(page.tags)
    for _, key, value in page.attributes:
        assert not key.startswith("on")
        if key in {"href", "src", "xlink:href"}:
            assert value.startswith(("#", "data:image/png;base64,"))
    policy = [v for t, k, v in page.attributes if k == "content" and "default" in v]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]
    styles = [v for _, k, v in page.attributes if k == "style"]
    assert not re.search(r"url\((?!#)", " ".join(styles))


def test_ids_are_unique_and_links_have_targets(hard_page):
    _, page = hard_page
    ids = [value for _, key, value in page.attributes if key == "id"]
    assert len(ids) == len(set(ids))
    for _, key, value in page.attributes:
        if key in {"href", "xlink:href"} and value.startswith("#"):
            assert value[1:] in ids
        for target in re.findall(r"url\(#([^)]*)\)", value):
            assert target in ids


def test_figures_take_the_colours_of_the_page(hard_page):
    text, _ = hard_page
    assert "#010203" not in text
    assert "currentColor" in text
    assert "prefers-color-scheme: dark" in text


def test_markup_in_a_journal_stays_text(tmp_path):
    text, page = page_of(evil_history(), tmp_path, title=EVIL)
    assert not {"script", "img"} & set(page.tags)
    assert not [key for _, key, _ in page.attributes if key.startswith("on")]
    assert EVIL in page.text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\x07" not in text


def test_nothing_in_a_journal_is_taken_as_it_is(tmp_path, monkeypatch):
    """Text in the place of each name and value: whole, or refused in one sentence.

    Figures are left out, as they take their time: the test above draws them.
    """
    monkeypatch.setattr(_figures, "_svg", lambda draw, size, name, title: Markup(""))
    path, changed = tmp_path / "study.jsonl", tmp_path / "changed.jsonl"
    left = [ValueError("boo"), 0.5]

    def loss(params):
        result = left.pop(0)
        if isinstance(result, ValueError):
            raise result
        return result

    space = {"x": Real(-1, 2), "k": ["a", "b"]}
    minimize(
        loss, space, n_trials=2, optimizer=RandomSearch(), random_state=0, storage=path
    )
    records = records_in(path)
    # The header, the first of each kind of record, a success, and the end.
    places = {tuple(record): i for i, record in reversed([*enumerate(records)])}
    places |= {"success": next(i for i, r in enumerate(records) if "value" in str(r))}
    assert len(places) == 7
    counts = {"whole": 0, "refused": 0}
    for i in places.values():
        for record in spoilt(records[i]):
            rewrite(changed, [*records[:i], record, *records[i + 1 :]])
            counts["whole" if is_safe(changed, tmp_path) else "refused"] += 1
    assert min(counts.values()) > 5


def is_safe(journal, tmp_path):
    """Return False where a journal is refused; check what else is shown of it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fonts that lack a letter
            text, page = page_of(journal, tmp_path)
            shown = describe(journal)
    except ValueError:
        return False
    assert not {"script", "img"} & set(page.tags)
    assert not [key for _, key, _ in page.attributes if key.startswith("on")]
    assert text.replace("\n", "").isprintable()
    assert shown.replace("\n", "").isprintable()
    return True


def spoilt(value):
    """Yield copies of JSON data, each with one name or value turned into markup."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield {(k + EVIL_NAME if k == key else k): v for k, v in value.items()}
            for other in spoilt(item):
                yield value | {key: other}
    elif isinstance(value, list):
        for i, item in enumerate(value):
            for other in spoilt(item):
                yield [*value[:i], other, *value[i + 1 :]]
    else:
        yield EVIL_NAME


def test_an_element_escapes_text_and_attributes():
    found = element("p", "<b>", Markup("<i>"), class_='"><x')
    assert found == '<p class="&quot;&gt;&lt;x">&lt;b&gt;<i></p>'
    assert element("p", "a\x1b\u202eb\n") == "<p>a\\x1b\\u202eb\n</p>"
    assert element("meta", name="a", http_equiv="b") == '<meta name="a" http-equiv="b">'


@pytest.mark.parametrize("n", [0, 1, 2])
def test_short_and_failed_histories(n, tmp_path):
    for fails in (False, True):
        history = run_random(
            {"x": Real(0, 1)}, lambda p: 1.0, n, fails=lambda p, fails=fails: fails
        )
        text, _ = page_of(history, tmp_path)
        assert ("No trial has finished yet" in text) == (n == 0)
        if n and fails:
            assert "No trial has been evaluated in full and succeeded" in text
            assert f"{n} x" in text
    text, _ = page_of(History(), tmp_path)
    assert "No trial has finished yet" in text


def test_a_journal_that_is_being_written(tmp_path):
    path = tmp_path / "study.jsonl"
    minimize(
        lambda p: p["x"] ** 2,
        {"x": Real(-1, 2)},
        n_trials=6,
        random_state=0,
        storage=path,
    )
    # Without the end, and with a part of the last result.
    part = path.read_bytes().rpartition(b'{"ended"')[0][:-40]
    path.write_bytes(part)
    text, page = page_of(path, tmp_path)
    assert "<h1>study.jsonl</h1>" in text
    assert re.search(r"Trials\s*5 of 6", page.text)
    assert "Unknown whether it is running" in page.text
    assert path.read_bytes() == part
    assert {p.name for p in tmp_path.iterdir()} == {"study.jsonl", "report.html"}


def test_long_names_break_where_they_are_joined(tmp_path):
    history = run_random({"forest__max_features": Real(0, 1)}, lambda p: 1.0, 2)
    text, page = page_of(history, tmp_path)
    assert '<th scope="col">forest__<wbr>max_features</th>' in text
    assert "forest__max_features" in page.text


def watched(tmp_path, n_trials, written, **kwargs):
    """Watch a search from its own function, as a second process would between trials.

    Returns the pages that ``written`` was called with, and the last one.
    """
    path, out = tmp_path / "study.jsonl", tmp_path / "report.html"
    pages = []

    def note(file):
        pages.append(file.read_text(encoding="utf-8"))
        return written(len(pages))

    def loss(params):
        if not pages or len(JournalStorage(path).load()) == n_trials - 1:
            watch_report(path, out, interval=0.01, written=note)
        return params["x"] ** 2

    minimize(loss, {"x": Real(-1, 2)}, n_trials=n_trials, random_state=0, storage=path)
    return pages, out.read_text(encoding="utf-8")


def test_a_page_says_that_the_search_is_running(tmp_path):
    pages, last = watched(tmp_path, 4, lambda n_pages: True)
    assert [re.search(r"Trials</dt><dd>([\d a-z]+)", p).group(1) for p in pages] == [
        "0 of 4",
        "3 of 4",
    ]
    for page in pages:
        assert 'http-equiv="refresh" content="0.01"' in page
        assert '<p class="status running">Running.</p>' in page
    assert "refresh" not in last


def test_watching_ends_with_the_search_and_a_last_page(tmp_path):
    path, out = tmp_path / "study.jsonl", tmp_path / "report.html"
    journal = JournalStorage(path).open(Space({"x": Real(0, 1)}), {}, seed=0)
    optimizer = RandomSearch({"x": Real(0, 1)}, random_state=0)
    shown = []

    def written(file):
        shown.append(re.findall(r"Trials</dt><dd>(\d+)|(Running)", file.read_text()))
        if len(shown) == 1:
            trial = optimizer.ask()
            journal.asked(trial)
            journal.told(trial, Evaluation(value=1.0))
        elif len(shown) == 2:
            # The file grows before the lock is given up, and both have to be seen.
            journal.ended("budget")
        else:
            journal.close()
        assert len(shown) < 9

    watch_report(path, out, interval=0.01, written=written)
    assert shown == [[("", "Running"), (n, "")] for n in ("0", "1", "1")]
    text = out.read_text(encoding="utf-8")
    assert "Ended: all trials of the budget were evaluated." in text
    assert "refresh" not in text


def test_an_ended_search_is_written_once(tmp_path):
    path, out = tmp_path / "study.jsonl", tmp_path / "report.html"
    minimize(lambda p: 1.0, {"x": Real(0, 1)}, n_trials=1, storage=path)
    called = []
    watch_report(path, out, written=called.append)
    assert called == []
    assert "Ended: all trials" in out.read_text(encoding="utf-8")


def test_watching_is_ended_by_an_interrupt_where_no_end_is_known(tmp_path):
    path, out = tmp_path / "study.jsonl", tmp_path / "report.html"
    minimize(lambda p: 1.0, {"x": Real(0, 1)}, n_trials=1, storage=path)
    path.write_bytes(path.read_bytes().rpartition(b'{"ended"')[0])

    def interrupt(file):
        assert "Unknown whether it is running" in file.read_text(encoding="utf-8")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        watch_report(path, out, written=interrupt)
    assert "refresh" not in out.read_text(encoding="utf-8")


def test_what_ended_a_search_is_escaped(tmp_path):
    path = tmp_path / "study.jsonl"
    with JournalStorage(path).open(Space({"x": Real(0, 1)}), {}, seed=0) as journal:
        journal.ended(EVIL, f"Boom: \x1b[2J{EVIL}" + "x" * 1000)
    text, page = page_of(path, tmp_path)
    assert "script" not in page.tags
    assert f"Ended: {EVIL} (Boom: " in page.text
    assert "\x1b" not in text
    shown = describe(path)
    assert shown.replace("\n", "").isprintable()
    assert max(map(len, shown.splitlines())) <= 80


def test_the_journal_is_not_overwritten(tmp_path):
    path = tmp_path / "study.jsonl"
    minimize(lambda p: 1.0, {"x": Real(0, 1)}, n_trials=1, storage=path)
    before = path.read_bytes()
    for given in (path, str(path), JournalStorage(path)):
        with pytest.raises(ValueError, match="another file than the journal"):
            write_report(given, path)
    assert path.read_bytes() == before


def test_damaged_files_are_value_errors(tmp_path):
    path = tmp_path / "study.jsonl"
    for text, message in (
        ('{"accsmbo_journal":"x"}\n', "line 1 cannot be read"),
        ('{"accsmbo_journal":1}\n', "line 1 cannot be read"),
        ('{"accsmbo_journal":99}\n', "Update accsmbo"),
        ("a,b\n1,2\n", "not the header of an accsmbo journal"),
        ("", "not the header of an accsmbo journal"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            read_study(path)


def test_failures_are_grouped_by_their_last_line():
    history = run_random(
        {"x": Real(0, 1)}, lambda p: p["x"], 20, fails=lambda p: p["x"] > 0.5
    )
    (group,) = summarize(*read_study(history)).failures
    assert group.reason == "ValueError: <script>no</script>"
    assert [t.number for t in group.trials] == [
        t.number for t, e in history if e.failed
    ]


def test_of_many_trials_the_best_and_an_even_choice_are_drawn(tmp_path):
    np.testing.assert_array_equal(drawn(np.arange(5.0)), np.arange(5))
    losses = np.random.default_rng(0).permutation(np.arange(1000.0))
    losses[:10] = np.nan
    rows = drawn(losses)
    assert len(rows) == N_DRAWN
    assert np.all(np.diff(rows) > 0)
    assert set(np.argsort(losses)[: N_DRAWN // 3]) <= set(rows)
    assert np.max(np.diff(rows)) < 30
    history = run_random({"x": Real(0, 1)}, lambda p: p["x"], 600)
    text, page = page_of(history, tmp_path)
    assert text.count("300 of the 600 trials are drawn") == 2
    # Only the bars of the timeline are pixels, with colours for any paper.
    assert page.tags.count("image") == 1


def test_all_figures_show_the_metric(tmp_path, monkeypatch):
    """Also the one of the parallel coordinates, which has a history of its own."""
    history = run_random({"x": Real(0, 1)}, lambda p: p["x"] - 1, 4)
    history.metric = "balanced_accuracy"
    shown = []
    plot = _figures.ParallelCoordinatesDisplay.plot
    monkeypatch.setattr(
        _figures.ParallelCoordinatesDisplay,
        "plot",
        lambda self, ax: (shown.append(self), plot(self, ax))[1],
    )
    page_of(history, tmp_path)
    (display,) = shown
    assert (display.value_name, display.is_score) == ("balanced_accuracy", True)
    np.testing.assert_array_equal(display.values, -history.values)


def test_of_many_folds_the_last_are_drawn(tmp_path, monkeypatch):
    whole = run_random({"x": Real(0, 1)}, lambda p: p["x"], 3)
    history = History(whole.space)
    for i, (trial, evaluation) in enumerate(whole):
        spans = tuple(Span(j % 2, 10.0 * j + i, 10.0 * j + i + 1) for j in range(800))
        history.append(trial, replace(evaluation, spans=spans))
    drawn = []
    plot = _figures.WorkerTimelineDisplay.plot
    monkeypatch.setattr(
        _figures.WorkerTimelineDisplay,
        "plot",
        lambda self, ax: (drawn.extend(self.bars), plot(self, ax))[1],
    )
    text, _ = page_of(history, tmp_path)
    assert "The last 1000 of 2400 folds are drawn." in text
    ends = sorted(span.end for e in history.evaluations for span in e.spans)
    assert [span.end for _, _, span in drawn] == ends[-1000:]


def test_workers_as_characters_say_how_busy_each_was():
    rng = np.random.default_rng(0)
    starts = rng.random(200) * 100
    spans = [
        Span(int(rng.integers(3)), start, start + length)
        for start, length in zip(starts, rng.random(200), strict=True)
    ]
    lines = worker_lines(spans, 80)
    start, end = min(s.start for s in spans), max(s.end for s in spans)
    edges = np.linspace(start, end, 41)
    for worker, line in enumerate(lines):
        own = [s for s in spans if s.worker == worker]
        for column, (low, high) in enumerate(itertools.pairwise(edges)):
            busy = any(s.start < high and s.end > low for s in own)
            assert line.ljust(56)[14 + column].isspace() != busy


def test_durations_as_people_say_them():
    found = [duration(s) for s in (0.123, 3.21, 42.4, 250.0, 7502.0)]
    assert found == ["0.12 s", "3.2 s", "42 s", "4 min 10 s", "2 h 5 min"]


def test_without_matplotlib_the_error_says_how_to_get_it(tmp_path):
    code = (
        "import sys; sys.modules['matplotlib'] = sys.modules['matplotlib.pyplot'] = "
        "None\nfrom accsmbo import Real, minimize\n"
        "from accsmbo.report import describe, write_report\n"
        "h = minimize(lambda p: 1.0, {'x': Real(0, 1)}, n_trials=1)\n"
        "assert 'Best loss' in describe(h)\n"
        f"try:\n    write_report(h, {str(tmp_path / 'r.html')!r})\n"
        "except ImportError as error:\n    print(error)"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert "write_report requires matplotlib" in output
    assert not (tmp_path / "r.html").exists()
