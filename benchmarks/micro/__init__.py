# SPDX-License-Identifier: BSD-3-Clause
"""Micro-benchmarks for asv; see asv.conf.json and `make benchmarks`."""
