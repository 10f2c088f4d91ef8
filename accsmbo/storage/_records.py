# SPDX-License-Identifier: BSD-3-Clause
"""Spaces, trials and evaluations <-> the records of a journal."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from accsmbo.history import Evaluation, Route, Span, Trial
from accsmbo.space import Categorical, Dimension, Integer, Real, Space
from accsmbo.storage._checks import (
    amount,
    moment,
    number,
    point,
    slopes,
    text,
    whole,
)
from accsmbo.storage._reading import decoding
from accsmbo.storage._values import (
    NotData,
    Opaque,
    decode,
    encode,
    encode_or_describe,
)

__all__ = [
    "decode_evaluation",
    "decode_space",
    "decode_trial",
    "encode_evaluation",
    "encode_space",
    "encode_trial",
    "events_of",
    "route_of",
]

# Of an evaluation, what is a number or left out.
NUMBERS = ("value", "noise")
TIMES = ("start_time", "end_time")
# State for later trials in the same process; a journal keeps results.
NOT_STORED = ("warm_start",)


def encode_space(space: Space) -> list[dict[str, Any]]:
    """Return a description of a space in JSON kinds, one dict for each subspace."""
    return [
        {name: _encode_dimension(d) for name, d in subspace.dimensions.items()}
        for subspace in space.subspaces
    ]


def _encode_dimension(dimension: Dimension) -> dict[str, Any]:
    if isinstance(dimension, (Real, Integer)):
        return {
            "kind": type(dimension).__name__,
            "low": dimension.low,
            "high": dimension.high,
            "log": dimension.log,
        }
    if isinstance(dimension, Categorical):
        return {
            "kind": "Categorical",
            "choices": [encode_or_describe(choice) for choice in dimension.choices],
            "ordered": dimension.ordered,
        }
    return {"kind": type(dimension).__name__, "text": repr(dimension)}


def decode_space(described: list[dict[str, Any]]) -> Space | None:
    """Return the space, or None where a dimension is known by its text alone."""
    dimensions = [
        {name: _decode_dimension(d) for name, d in subspace.items()}
        for subspace in described
    ]
    if any(d is None for subspace in dimensions for d in subspace.values()):
        return None
    return Space(dimensions, allow_empty=True)


def _decode_dimension(described: dict[str, Any]) -> Dimension | None:
    kind = described["kind"]
    if kind == "Real":
        return Real(described["low"], described["high"], described["log"])
    if kind == "Integer":
        return Integer(described["low"], described["high"], described["log"])
    if kind == "Categorical":
        choices = [_decode_choice(c, i) for i, c in enumerate(described["choices"])]
        return Categorical(choices, described["ordered"])
    return None


def _decode_choice(encoded: Any, position: int) -> Any:
    value = decode(encoded)
    return Opaque(value.text, position) if isinstance(value, Opaque) else value


def encode_trial(trial: Trial, space: Space | None) -> dict[str, Any]:
    """Return a trial in JSON kinds; other objects by position among their choices."""
    dimensions = space.subspaces[trial.subspace].dimensions if space else {}
    return {
        "number": trial.number,
        "params": {
            name: _encode_param(value, dimensions.get(name))
            for name, value in trial.params.items()
        },
        "unit": [float(u) for u in trial.unit],
        "subspace": trial.subspace,
        "seed": trial.seed,
        "tolerance": encode(trial.tolerance),
        "fidelity": encode(trial.fidelity),
    }


def _encode_param(value: Any, dimension: Dimension | None) -> Any:
    try:
        return encode(value)
    except NotData:
        if isinstance(dimension, Categorical):
            place = next(i for i, c in enumerate(dimension.choices) if c is value)
            return {"$choice": place}
        return {"$text": repr(value)}


def decode_trial(
    record: dict[str, Any],
    space: Space | None,
    described: list[dict[str, Any]],
    known: Space | None = None,
) -> Trial:
    """Return a trial.

    Parameters
    ----------
    record : dict
        What :func:`encode_trial` returned.
    space : Space or None
        Params are the objects of this space; None: what the journal holds of them.
    described : list of dict
        The description of the space in the journal.
    known : Space or None, default=None
        The space of that description, where it can be made from it.
    """
    known = space or known
    index = whole(record, "subspace", len(described))
    # Constants have no place in the unit cube.
    n = len(described[index]) if known is None else known.subspaces[index].n_dims
    unit = point(record["unit"], range(0 if known is None else n, n + 1))
    if space is not None:
        params = space.subspaces[index].to_params(unit)
        more = [name for name in record["params"] if name not in params]
        params |= {name: decode(record["params"][name]) for name in more}
    else:
        params = {
            name: _decode_param(value, described[index].get(name, {}))
            for name, value in record["params"].items()
        }
    return Trial(
        number=whole(record, "number"),
        params=params,
        unit=unit,
        subspace=index,
        seed=whole(record, "seed"),
        tolerance=amount(record, "tolerance"),
        fidelity=amount(record, "fidelity"),
    )


def _decode_param(value: Any, dimension: dict[str, Any]) -> Any:
    if isinstance(value, dict) and "$choice" in value:
        place = value["$choice"]
        return _decode_choice(dimension["choices"][place], place)
    return decode(value)


def encode_evaluation(evaluation: Evaluation) -> dict[str, Any]:
    """Return an evaluation in JSON kinds, without what stands for its default."""
    record = {}
    for field in fields(Evaluation):
        value = getattr(evaluation, field.name)
        if field.name in NOT_STORED or value is field.default or value == ():
            continue
        if field.name == "gradient":
            value = dict(value)
        elif field.name == "spans":
            value = [list(span) for span in value]
        elif field.name == "folds":
            record["folds"] = [encode_or_describe(fold) for fold in value]
            continue
        record[field.name] = encode_or_describe(value)
    return record


def decode_evaluation(record: dict[str, Any], trial: Trial) -> Evaluation:
    """Return the evaluation of a trial; fields of later versions are left out."""
    known = {field.name for field in fields(Evaluation)}
    values = {k: decode(v) for k, v in record.items() if k in known}
    values |= {name: number(record, name) for name in NUMBERS if name in record}
    values |= {name: moment(record[name], name) for name in TIMES if name in record}
    if "error" in record:
        text(record, "error")
    if not all(isinstance(fold, dict) for fold in record.get("folds", ())):
        raise TypeError("'folds' must be records")
    if "gradient" in record:
        values["gradient"] = slopes(record["gradient"], trial)
    values["folds"] = tuple(values.get("folds", ()))
    values["spans"] = tuple(
        Span(
            whole({"worker": worker}, "worker"),
            moment(start, "start"),
            moment(end, "end"),
        )
        for worker, start, end in values.get("spans", ())
    )
    return Evaluation(**values)


def route_of(records: Sequence[dict[str, Any]], path: Path) -> Route | None:
    """Return how the trials of a journal were found, as its last record of it says."""
    for line, record in reversed([*enumerate(records, 1)]):
        if "route" in record:
            with decoding(path, line):
                for name in Route._fields:
                    text(record["route"], name)
                return Route(**record["route"])
    return None


def events_of(
    records: Sequence[dict[str, Any]],
    space: Space | None,
    path: Path,
    known: Space | None = None,
) -> list[tuple[str, Trial, Evaluation | None]]:
    """Return what was asked and told, in order.

    Parameters
    ----------
    records : sequence of dict
        All of a journal.
    space : Space or None
        None: choices that are no plain data stay text.
    path : Path
        The file, for messages.
    known : Space or None, default=None
        The space that the journal describes, where it can be made from that.

    Returns
    -------
    list of (str, Trial, Evaluation or None)
        ``"asked"`` and ``"told"``.

    Raises
    ------
    JournalDamaged
        If a record is malformed, or a trial is asked twice, or told without being
        asked or twice.
    """
    trials: dict[int, Trial] = {}
    open_: set[int] = set()
    events: list[tuple[str, Trial, Evaluation | None]] = []
    for line, record in enumerate(records[1:], 2):
        with decoding(path, line):
            if "asked" in record:
                described = records[0]["space"]
                trial = decode_trial(record["asked"], space, described, known)
                if trial.number in trials:
                    raise ValueError(f"trial {trial.number} was asked before")
                trials[trial.number] = trial
                open_.add(trial.number)
                events.append(("asked", trial, None))
            elif "told" in record:
                key = whole(record, "told")
                if key not in open_:
                    when = "was told before" if key in trials else "was never asked"
                    raise ValueError(f"trial {key} {when}")
                open_.remove(key)
                told = decode_evaluation(record["evaluation"], trials[key])
                events.append(("told", trials[key], told))
    return events
