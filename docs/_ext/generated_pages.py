# SPDX-License-Identifier: BSD-3-Clause
"""Made at build time: what's new, the benchmarks, the picture of the layers."""

from pathlib import Path
from typing import Any

from benchmark_tables import benchmarks_page
from change_log import change_log_page
from layer_picture import layers_picture
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]


def write(app: Sphinx) -> None:
    """Write the pages where they changed, so that a rebuild reads only those."""
    pages = {
        "whats_new.rst": change_log_page((ROOT / "CHANGELOG.md").read_text()),
        "benchmarks.rst": benchmarks_page(ROOT / "benchmarks"),
        "layers.svg": layers_picture(ROOT),
    }
    for name, text in pages.items():
        path = Path(app.srcdir) / "generated" / name
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def setup(app: Sphinx) -> dict[str, Any]:
    """Write before Sphinx looks for sources."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
