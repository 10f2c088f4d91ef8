# SPDX-License-Identifier: BSD-3-Clause
"""Training of batch, self-tuning and hyper-batch ensembles."""
