# SPDX-License-Identifier: BSD-3-Clause
"""A search told in one HTML page or in the terminal, also while it runs."""

from accsmbo.report._terminal import describe
from accsmbo.report._write import watch_report, write_report

__all__ = ["describe", "watch_report", "write_report"]
