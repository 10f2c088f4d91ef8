# SPDX-License-Identifier: BSD-3-Clause
"""``python -m accsmbo``: the command, where the console script is not on the path."""

import sys

from accsmbo.cli import main

if __name__ == "__main__":
    sys.exit(main())
