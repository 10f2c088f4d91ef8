# SPDX-License-Identifier: BSD-3-Clause
"""The style sheet of a report: light and dark, wide and narrow, for print."""

__all__ = ["INK", "PAPER", "STYLE"]

# Figures are drawn with these colours, which become those of the page.
INK = "#010203"
PAPER = "#fdfcfb"

STYLE = """
:root { color-scheme: light dark; --page: #f3f4f6; --paper: #ffffff; --ink: #1b1f24;
  --quiet: #57606a; --line: #d0d7de; --accent: #0a58b8; --bad: #a3161f; }
@media (prefers-color-scheme: dark) {
  :root { --page: #0d1117; --paper: #161b22; --ink: #e6edf3; --quiet: #9aa4af;
    --line: #30363d; --accent: #79b8ff; --bad: #ff8b83; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main, header, footer { max-width: 72rem; margin: 0 auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin: 1.5rem 0 0; overflow-wrap: anywhere; }
.status { margin: .25rem 0 0; overflow-wrap: anywhere; }
.status.running { color: var(--accent); font-weight: 600; }
h2 { font-size: 1.15rem; margin: 0 0 .5rem; }
p { margin: .25rem 0 .75rem; } .quiet { color: var(--quiet); }
a { color: var(--accent); }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: .5rem 0 1rem; }
section { background: var(--paper); border: 1px solid var(--line);
  border-radius: 8px; padding: 1rem; margin: 0 0 1rem; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr));
  gap: .5rem 1rem; margin: 1rem 0; }
dt { color: var(--quiet); font-size: .85rem; }
dd { margin: 0; font-size: 1.2rem; font-weight: 600; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; min-width: 100%; }
th, td { text-align: left; padding: .3rem .75rem .3rem 0; vertical-align: top;
  border-bottom: 1px solid var(--line); }
th { color: var(--quiet); font-weight: 600; vertical-align: bottom; }
th, td { min-width: 4rem; max-width: 18rem; overflow-wrap: break-word; }
td.number, th.number { text-align: right; white-space: nowrap; min-width: 0;
  font-variant-numeric: tabular-nums; }
.grid { display: grid; gap: 1rem; margin: .5rem 0 1rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr)); }
.grid.wide { grid-template-columns: repeat(auto-fill, minmax(min(100%, 28rem), 1fr)); }
.grid > figure { max-width: 36rem; }
figure { margin: 0; } figure svg { width: 100%; height: auto; display: block; }
figcaption { color: var(--quiet); font-size: .85rem; }
svg * { stroke-linejoin: round; stroke-linecap: butt; }
svg text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
pre { overflow: auto; max-height: 24rem; font-size: .8rem; padding: .75rem;
  background: var(--page); border-radius: 6px; white-space: pre-wrap;
  overflow-wrap: anywhere; }
summary { cursor: pointer; overflow-wrap: anywhere; }
.count { color: var(--bad); font-weight: 600; }
footer { color: var(--quiet); font-size: .85rem; padding-bottom: 2rem; }
@media (max-width: 40rem) { main, header, footer { padding: 0 .5rem; }
  section { padding: .75rem; } body { font-size: 15px; } }
@media print { body { background: none; } section { break-inside: avoid; } }
"""
