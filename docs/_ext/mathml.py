# SPDX-License-Identifier: BSD-3-Clause
"""Math as MathML, made by docutils: browsers draw it without a script or a network."""

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx


def visit_inline(writer: Any, node: nodes.math) -> None:
    """Write inline math."""
    writer.body.append(f'<span class="math">{tex2mathml(node.astext())}</span>')
    raise nodes.SkipNode


def visit_block(writer: Any, node: nodes.math_block) -> None:
    """Write a displayed equation; several lines are aligned at the ampersands."""
    text = node.astext()
    if "\\\\" in text or "&" in text:
        text = rf"\begin{{aligned}} {text} \end{{aligned}}"
    writer.body.append(f'<div class="math">{tex2mathml(text, as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer under the name `mathml`."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
