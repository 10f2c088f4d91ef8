# SPDX-License-Identifier: BSD-3-Clause
"""Layers of batch, self-tuning and hyper-batch ensembles, forward and backward."""
