# SPDX-License-Identifier: BSD-3-Clause
"""Tests of accsmbo; the folders mirror the package."""
