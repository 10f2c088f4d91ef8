# SPDX-License-Identifier: BSD-3-Clause
"""Linear models that gradients make worth tuning: one penalty per feature group."""

from accsmbo.linear_model._group_penalty import GroupLogisticRegression, GroupRidge

__all__ = ["GroupLogisticRegression", "GroupRidge"]
