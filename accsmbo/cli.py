# SPDX-License-Identifier: BSD-3-Clause
"""The command ``accsmbo``: a report of a journal as a page or in the terminal."""

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import accsmbo
from accsmbo.inspection import shorten
from accsmbo.report import describe, watch_report, write_report
from accsmbo.report._summary import say_status
from accsmbo.storage import JournalStorage

__all__ = ["main"]

# As by argparse for wrong arguments, and by shells for Ctrl-C.
FAILED, INTERRUPTED = 1, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str, default=None
        Words after the command; None: those of this process.

    Returns
    -------
    int
        Exit code: 0 for success, 1 for a file that cannot be read or written or a
        missing package, 130 where interrupted; wrong arguments exit with 2.
    """
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except BrokenPipeError:
        # The reader of our output has seen enough; nothing more may be written to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except FileNotFoundError as error:
        return _fail(f"there is no file {error.filename!r}")
    except OSError as error:
        # A device that is full does not say its name.
        name = error.filename or getattr(options, "output", None) or options.journal
        return _fail(f"{str(name)!r}: {error.strerror}")
    except (ImportError, ValueError) as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="accsmbo",
        description="Look at the journal of a hyperparameter search, also while it "
        "runs.",
    )
    parser.add_argument(
        "--version", action="version", version=f"accsmbo {accsmbo.__version__}"
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="")
    report = commands.add_parser(
        "report",
        help="write a page with tables and figures",
        description="Write one HTML page that needs nothing else: best candidates, "
        "convergence, importance, slices, timeline, failures.",
    )
    report.add_argument("journal", help="the file given as storage=")
    report.add_argument(
        "-o", "--output", help="the page; default: the journal's name with .html"
    )
    report.add_argument("--title", help="heading; default: the journal's name")
    report.add_argument(
        "--watch",
        action="store_true",
        help="write it anew as the journal grows, until the search has ended",
    )
    report.add_argument(
        "--interval",
        type=_seconds,
        default=5.0,
        metavar="SECONDS",
        help="least time between two pages with --watch (default: 5)",
    )
    report.set_defaults(run=_report)
    show = commands.add_parser(
        "show",
        help="print a summary",
        description="Print what the page has: best candidates, convergence, "
        "importance, slices, timeline, failures.",
    )
    show.add_argument("journal", help="the file given as storage=")
    show.set_defaults(run=_show)
    return parser


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"must be more than 0 seconds, got {text}")
    return seconds


def _report(options: argparse.Namespace) -> int:
    out = options.output or Path(options.journal).with_suffix(".html")
    if not options.watch:
        print(write_report(options.journal, out, title=options.title))
        return 0
    print(
        f"writing {out} as {options.journal} grows, until the search has ended or "
        "Ctrl-C",
        flush=True,
    )
    try:
        watch_report(
            options.journal, out, interval=options.interval, title=options.title
        )
        status = JournalStorage(options.journal).status()
        print(shorten(say_status(status), 500))
    except KeyboardInterrupt:
        pass
    print(f"{out} is complete")
    return 0


def _show(options: argparse.Namespace) -> int:
    terminal = sys.stdout.isatty()
    text = describe(
        options.journal,
        width=min(120, shutil.get_terminal_size().columns),
        styled=terminal and "NO_COLOR" not in os.environ,
        unicode=(sys.stdout.encoding or "").lower().startswith("utf"),
    )
    sys.stdout.write(text)
    sys.stdout.flush()
    return 0


def _fail(message: str) -> int:
    print(f"accsmbo: error: {message}", file=sys.stderr)
    return FAILED
