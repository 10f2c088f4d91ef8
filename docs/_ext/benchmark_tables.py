# SPDX-License-Identifier: BSD-3-Clause
"""The benchmarks page, from benchmarks/results/*.json.

Whatever keys a study chose: scalars become a list, dicts of scalars and lists of dicts
become tables. Single runs (`runs`, `cases`) are only counted where there is a summary;
else their scalars are shown, of equal ones the latest.
"""

import ast
import json
from pathlib import Path
from typing import Any

INTRODUCTION = """.. _benchmarks:

==========
Benchmarks
==========

What was measured: every result file of ``benchmarks/results/``, as it is, losses and
missed targets included. Each section names the study, the command that made it and the
versions it ran with. The studies lie in ``benchmarks/studies/``; those that need data
name the folder with ``--data``. Counts of evaluations do not depend on the machine,
times do.

For what the numbers mean see :ref:`algorithm`, :ref:`ensembles`.
"""
RAW = {"runs", "cases"}
Row = tuple[dict[str, Any], Any]
ABOUT_RUN = {"python", "command", "commit", "modified", "seeds", "date"}
ABOUT = {"environment", "environments", "question", "note"}


def benchmarks_page(folder: Path) -> str:
    """Return the page as reStructuredText."""
    sections = [section(path, folder) for path in sorted(folder.glob("results/*.json"))]
    return "\n".join([INTRODUCTION, *sections])


def section(path: Path, folder: Path) -> str:
    """Return the section of one result file."""
    result = json.loads(path.read_text())
    study = study_of(path.stem, folder)
    title = (result.get("question") or summary_of(study) or path.stem).rstrip(".")
    if study and path.stem != study.stem:
        title += f" ({path.stem.removeprefix(study.stem).strip('_').replace('_', ' ')})"
    lines = [title, "=" * len(title), "", f"``results/{path.name}``"]
    if study:
        lines[-1] += f", made by ``studies/{study.name}``"
    lines[-1] += ". " + environment_of(result)
    if "note" in result:
        lines += ["", escape(result["note"])]
    body = {key: value for key, value in result.items() if key not in ABOUT}
    lines += [*blocks(body), ""]
    return "\n".join(lines)


def study_of(stem: str, folder: Path) -> Path | None:
    """Return the script whose name starts the result's name, the longest one."""
    scripts = [p for p in folder.glob("studies/*.py") if stem.startswith(p.stem)]
    return max(scripts, key=lambda p: len(p.stem), default=None)


def summary_of(study: Path | None) -> str:
    """Return the first line of a script's docstring, without its full stop."""
    text = ast.get_docstring(ast.parse(study.read_text())) if study else ""
    return (text or "").partition("\n")[0].rstrip(".")


def environment_of(result: dict[str, Any]) -> str:
    """Return versions and command as one sentence each."""
    found = result.get("environment") or {}
    if not found and result.get("environments"):
        found = next(iter(result["environments"].values()))
    versions = found.get("versions", {})
    text = ", ".join(f"{name} {version}" for name, version in versions.items())
    sentences = [f"Python {found['python']}, {text}."] if "python" in found else []
    if found.get("commit"):
        changed = " with changes" if found.get("modified") else ""
        sentences.append(f"Commit {found['commit'][:10]}{changed}.")
    if found.get("command"):
        sentences.append(f"Command: ``{found['command']}``.")
    return " ".join(sentences)


def blocks(value: dict[str, Any], path: tuple[str, ...] = ()) -> list[str]:
    """Return scalars as a list, records of the same keys as one table."""
    scalars = {key: v for key, v in value.items() if is_cell(v)}
    lines = heading(path) if scalars else []
    lines += ["", *(f"- {escape(k)}: {cell(v)}" for k, v in scalars.items())]
    records: dict[tuple[str, ...], list[Row]] = {}
    for key, v in value.items():
        if is_record(v):
            records.setdefault(tuple(v), []).append(({"": key}, v))
    for rows in records.values():
        alone = (str(rows[0][0][""]),) if len(rows) == 1 else ()
        lines += [*heading((*path, *alone)), *table(rows)]
    for key, v in value.items():
        if key in RAW and not is_cell(v):
            if "summary" in value:
                lines += ["", f"{len(v)} single runs are in the file."]
            else:
                lines += run_tables(v)
        elif isinstance(v, list) and not is_cell(v):
            lines += [*heading((*path, key)), *table([({}, row) for row in v])]
        elif not is_cell(v) and not is_record(v):
            lines += blocks(v, (*path, str(key)))
    return lines


def run_tables(runs: dict[str, Any] | list[Any]) -> list[str]:
    """Return tables of the scalars of single runs, one for each set of keys."""
    named = runs.items() if isinstance(runs, dict) else (("", run) for run in runs)
    latest: dict[tuple[Any, ...], Row] = {}
    for name, run in named:
        for row in run.get("rows", [run]):
            kept = {k: v for k, v in row.items() if not isinstance(v, dict | list)}
            kept = {k: v for k, v in kept.items() if k not in ABOUT_RUN}
            texts = tuple(v for v in kept.values() if isinstance(v, str))
            latest[(name, *kept, *texts)] = ({"": name} if name else {}), kept
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in latest.values():
        groups.setdefault(tuple(row[1]), []).append(row)
    return [line for rows in groups.values() for line in table(rows)]


def heading(path: tuple[str, ...]) -> list[str]:
    """Return where in the file a table comes from."""
    return ["", f".. rubric:: {escape(' / '.join(path))}"] if path else []


def table(rows: list[Row]) -> list[str]:
    """Return a list-table whose columns are the keys of all rows."""
    records = [
        label | (row if isinstance(row, dict) else {"": row}) for label, row in rows
    ]
    columns = list(dict.fromkeys(key for record in records for key in record))
    lines = ["", ".. list-table::", "   :header-rows: 1", "   :class: results", ""]
    for record in [{c: c for c in columns}, *records]:
        for i, column in enumerate(columns):
            bullet = "*" if i == 0 else " "
            lines.append(f"   {bullet} - {cell(record.get(column, ''))}".rstrip())
    return lines


def is_record(value: Any) -> bool:
    """Whether a value is one row of a table: a dict of cells."""
    return isinstance(value, dict) and all(map(is_cell, value.values()))


def is_cell(value: Any) -> bool:
    """Whether a value fits in one cell: no dicts in it."""
    if isinstance(value, list):
        return not any(isinstance(v, dict | list) for v in value)
    return not isinstance(value, dict)


def cell(value: Any) -> str:
    """Return a value as text, floats to four digits."""
    if isinstance(value, list):
        return ", ".join(cell(v) for v in value)
    if isinstance(value, float):
        return f"{value:.4g}"
    return escape("" if value is None else str(value))


def escape(text: str) -> str:
    """Return text in which reStructuredText sees no markup."""
    for character in "\\*`|_":
        text = text.replace(character, f"\\{character}")
    return text
