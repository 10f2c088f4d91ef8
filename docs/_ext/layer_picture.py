# SPDX-License-Identifier: BSD-3-Clause
"""The layers of the package as a picture, from the import contract in pyproject.toml.

What the contract says is what CI checks, so that the picture cannot go stale. Each box
carries the first line of its module's docstring.
"""

import ast
import textwrap
import tomllib
from pathlib import Path
from xml.sax.saxutils import escape

WIDTH, MARGIN, GAP = 900, 10, 10
LINE, LEAD, PADDING = 15, 3, 9  # LEAD: between name and purpose
CHARACTER = 7  # width of one at 12 px, on the safe side
STYLE = (
    "text{font:12px sans-serif;fill:#333}"
    ".name{font:bold 13px monospace;fill:#111}"
    "rect{fill:#eef3f8;stroke:#7a93ab}"
)


def layers(contract: dict, package: Path) -> list[list[str]]:
    """Return the names of each layer, the highest first, of modules that exist."""
    rows = []
    for layer in contract["layers"]:
        names = [name.strip().strip("()") for name in layer.split("|")]
        rows.append([name for name in names if source(package, name)])
    return [row for row in rows if row]


def source(package: Path, name: str) -> Path | None:
    """Return the file that holds the docstring of a module, if there is one."""
    paths = [package / name / "__init__.py", package / f"{name}.py"]
    return next((path for path in paths if path.exists()), None)


def purpose(path: Path) -> str:
    """Return the first line of a file's docstring without its full stop."""
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    return text.partition("\n")[0].rstrip(".").replace("``", "")


def layers_picture(root: Path) -> str:
    """Return the picture as SVG: a module may import what stands below it."""
    settings = tomllib.loads((root / "pyproject.toml").read_text())["tool"]
    (contract,) = settings["importlinter"]["contracts"]
    package = root / settings["importlinter"]["root_package"]
    parts, y = [], MARGIN
    for names in layers(contract, package):
        width = (WIDTH - 2 * MARGIN - GAP * (len(names) - 1)) / len(names)
        texts = [
            textwrap.wrap(
                purpose(source(package, name)), int((width - 2 * PADDING) / CHARACTER)
            )
            for name in names
        ]
        height = 2 * PADDING + LEAD + LINE * (1 + max(map(len, texts)))
        for i, (name, lines) in enumerate(zip(names, texts, strict=True)):
            x = MARGIN + i * (width + GAP)
            parts += box(x, y, width, height, name, lines)
        y += height + GAP
    size = f'width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
            f"<style>{STYLE}</style>",
            *parts,
            "</svg>\n",
        ]
    )


def box(
    x: float, y: float, width: float, height: float, name: str, lines: list[str]
) -> list[str]:
    """Return a rectangle, the module's name, and what it is for."""
    parts = [
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4"/>'
    ]
    texts = [("name", name), *(("purpose", line) for line in lines)]
    for i, (kind, text) in enumerate(texts):
        base = y + PADDING + LINE * i + (11 + LEAD if i else 11)
        at = f'x="{x + PADDING:g}" y="{base:g}"'
        parts.append(f'<text class="{kind}" {at}>{escape(text)}</text>')
    return parts
