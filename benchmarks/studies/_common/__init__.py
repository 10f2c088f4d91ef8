# SPDX-License-Identifier: BSD-3-Clause
"""What several studies share: tasks, data, peers, and how results are kept."""
