# SPDX-License-Identifier: BSD-3-Clause
"""The report in a headless browser; skipped where chromium is not installed."""

import time
from dataclasses import replace

import pytest

from accsmbo.history import Evaluation, History
from accsmbo.report import write_report
from tests.inspection._studies import LONG, hard_history
from tests.report._browser import Browser, find_browser
from tests.report.test_report import EVIL, evil_history

pytest.importorskip("matplotlib")
BROWSER, DRIVER = find_browser()
pytestmark = pytest.mark.skipif(
    BROWSER is None or DRIVER is None,
    reason="needs chromium and chromedriver (apt-get install chromium chromium-driver)",
)


@pytest.fixture(scope="module")
def browser():
    with Browser(BROWSER, DRIVER) as session:
        yield session


@pytest.fixture(scope="module")
def hard(tmp_path_factory):
    return write_report(hard_history(), tmp_path_factory.mktemp("page") / "hard.html")


@pytest.fixture(scope="module")
def evil(tmp_path_factory):
    history = evil_history()
    trial = replace(history.trials[0], number=13)
    history.append(trial, Evaluation(error=f"Boom: <img src=x onerror=alert(1)>{EVIL}"))
    path = tmp_path_factory.mktemp("page") / "evil.html"
    return write_report(history, path, title=EVIL)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1400])
def test_the_page_fits_its_window(browser, hard, width, dark):
    browser.open(hard, width=width, dark=dark)
    overflow = "return document.documentElement.scrollWidth - window.innerWidth"
    assert browser.run(overflow) <= 0
    seen = "return [...document.querySelectorAll('svg')].map(s => s.clientWidth)"
    widths = browser.run(seen)
    assert len(widths) == 16
    assert min(widths) >= 240
    assert browser.log() == []


def test_everything_is_in_the_page(browser, hard):
    browser.open(hard)
    assert browser.run("return performance.getEntriesByType('resource').length") == 0
    assert browser.run("return document.scripts.length") == 0
    assert browser.run("return document.querySelectorAll('section').length") == 7
    text = browser.run("return document.body.innerText")
    assert LONG in text
    assert "ValueError: <script>no</script>" in text
    targets = "return [...document.querySelectorAll('nav a')].map(a => a.hash)"
    for target in browser.run(targets):
        assert browser.run(f"return document.querySelector('{target}') !== null")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_is_told_from_the_paper(browser, hard, dark):
    browser.open(hard, dark=dark)
    colours = browser.run(
        """
        const style = (s) => getComputedStyle(document.querySelector(s));
        return [style('section').backgroundColor, style('section').color,
                style('p.quiet').color, style('a').color, style('.count').color,
                style('svg text').fill];
        """
    )
    paper, *inks = [luminance(colour) for colour in colours]
    assert (paper < 0.1) == dark
    for ink in inks:
        low, high = sorted([paper, ink])
        # WCAG 2.1, contrast (minimum), 1.4.3.
        assert (high + 0.05) / (low + 0.05) >= 4.5


def luminance(colour):
    channels = [int(c) / 255 for c in colour[4:-1].split(",")]
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
    ]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_nothing_of_a_journal_runs(browser, evil):
    browser.open(evil)
    assert browser.run("return window.hacked === undefined")
    assert browser.run("return document.querySelectorAll('script, img').length") == 0
    assert browser.run("return document.querySelector('h1').textContent") == EVIL
    assert browser.run("return document.title") == EVIL
    heads = "return [...document.querySelectorAll('th')].map(t => t.textContent)"
    assert any(text.startswith(EVIL) for text in browser.run(heads))
    assert browser.log() == []


def test_a_failure_opens_to_its_traceback(browser, evil):
    browser.open(evil)
    hidden, shown = browser.run(
        """
        const box = document.querySelector('details');
        const closed = box.querySelector('pre').checkVisibility();
        box.querySelector('summary').click();
        return [closed, box.querySelector('pre').checkVisibility()];
        """
    )
    assert not hidden
    assert shown


def test_a_watched_page_reloads(browser, tmp_path):
    path = tmp_path / "page.html"
    write_report(History(), path, refresh=0.2, title="first")
    browser.open(path)
    write_report(History(), path, title="second")
    heading = "return document.querySelector('h1').textContent"
    deadline = time.monotonic() + 30
    while browser.run(heading) != "second" and time.monotonic() < deadline:
        time.sleep(0.1)
    assert browser.run(heading) == "second"
