# SPDX-License-Identifier: BSD-3-Clause
"""Journals damaged in 500 ways: what is read was written, the rest is said.

No reading ends in an error of ours: a ValueError that names the file, or data.
"""

import json
import random
import shutil
import warnings

import pytest

from accsmbo import Integer, JournalStorage, Real, minimize
from accsmbo.exceptions import JournalDamaged, JournalWarning
from accsmbo.optimizers import RandomSearch
from accsmbo.report import describe
from tests._journals import as_version_1, records_in, rewrite

N = 6
SPACE = {"x": Real(-1.0, 2.0), "k": Integer(1, 9), "c": ["a", "b", (1, 2)]}
ALIEN = [
    b"a,b,c",
    b"[" * 3000 + b"]" * 3000,
    b'{"told":0,"evaluation":{}}',
    b'{"asked":{"number":0}}',
    b'{"ended":[]}',
    b'{"started":{"n_trials":1e400}}',
    b"{}",
    b"null",
    b"\xff\xfe\x00",
    b"",
]
VALUES = [
    None,
    True,
    -1,
    10**300,
    1e308,
    "\x1b[2J",
    "9" * 5000,
    [],
    {},
    [[]],
    {"$float": "nan"},
    {"$float": []},
    {"$text": 1},
    {"$tuple": 3},
    {"$array": ["<f8", [2], ""]},
    {"$dict": [[[], 1]]},
    {"$choice": 99},
    {"$no": 1},
]


def loss(params):
    if params["k"] == 4:
        raise ValueError("no four")
    return params["x"] ** 2 + params["k"] / 10


def run(path):
    return minimize(
        loss,
        SPACE,
        optimizer=RandomSearch(),
        n_trials=N,
        random_state=3,
        storage=path,
    )


def described(history):
    return [(t.number, t.params, t.seed, e.value, e.error) for t, e in history]


def flip(data, rng):
    place = rng.randrange(len(data))
    return (
        data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]
    )


def cut(data, rng):
    return data[: rng.randrange(len(data))]


def zero(data, rng):
    start = rng.randrange(len(data))
    n = min(rng.choice([1, 20, 512]), len(data) - start)
    return data[:start] + bytes(n) + data[start + n :]


def encode(data, rng):
    return data.decode().encode(rng.choice(["utf-16", "utf-32", "cp037", "utf-8-sig"]))


def of_lines(change):
    def changed(data, rng):
        lines = data.splitlines(keepends=True)
        change(lines, rng.randrange(len(lines)), rng)
        return b"".join(lines)

    changed.__name__ = change.__name__
    return changed


@of_lines
def double(lines, place, rng):
    lines.insert(place, lines[place])


@of_lines
def drop(lines, place, rng):
    del lines[place]


@of_lines
def swap(lines, place, rng):
    other = rng.randrange(len(lines))
    lines[place], lines[other] = lines[other], lines[place]


@of_lines
def foreign(lines, place, rng):
    lines.insert(place + 1, rng.choice(ALIEN) + b"\n")


@of_lines
def digits(lines, place, rng):
    lines[place] = lines[place].replace(b":0", b":" + b"9" * rng.choice([30, 4200]), 1)


@of_lines
def version(lines, place, rng):
    new = rng.choice([b"0", b"-1", b"1", b"3", b'"2"', b"2.0", b"null", b"[1]"])
    lines[0] = lines[0].replace(b':1,"', b":" + new + b',"', 1)
    lines[0] = lines[0].replace(b':2,"', b":" + new + b',"', 1)


BYTES = [flip, cut, zero, encode, double, drop, swap, foreign, digits, version]


def places(value):
    """Yield each container with each key of a record."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield value, key
        if isinstance(item, (dict, list)):
            yield from places(item)


def other_value(records, rng):
    """Put a value of another kind in a place of a record, with a right checksum."""
    records = json.loads(json.dumps(records))
    container, key = rng.choice([*places(rng.choice(records))])
    if rng.random() < 0.2:
        del container[key]
    else:
        container[key] = rng.choice(VALUES)
    return [record or {"none": 0} for record in records]


def attempt(act, path):
    """Return what was read, or None where it was refused, and whether that was said."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", JournalWarning)
        try:
            found = act()
        except ValueError as error:
            if not isinstance(error, JournalDamaged) and path.name not in str(error):
                raise
            return None, True
    return found, bool(caught)


def read_all(path, copy):
    """Return the trials of load and of a resumed run, and whether damage was said."""
    found, said = attempt(lambda: JournalStorage(path).load(), path)
    attempt(lambda: JournalStorage(path).status(), path)
    attempt(lambda: describe(path), path)
    shutil.copy(path, copy)
    resumed, said_too = attempt(lambda: run(copy), copy)
    return found, said, resumed, said_too


@pytest.mark.parametrize("first", [True, False], ids=["format 1", "format 2"])
def test_bytes_of_a_journal(tmp_path, first):
    path, copy = tmp_path / "study.jsonl", tmp_path / "copy.jsonl"
    whole = described(run(path))
    if first:
        as_version_1(path)
    data = path.read_bytes()
    rng = random.Random(first)
    n_read = 0
    for number in range(190):
        change = BYTES[number % len(BYTES)]
        changed = change(data, rng)
        path.write_bytes(changed)
        found, said, resumed, said_too = read_all(path, copy)
        n_read += found is not None
        if first:
            continue
        # All that has an end was written so: what a crash leaves.
        torn = data.startswith(changed[: changed.rfind(b"\n") + 1])
        if found is not None:
            read = described(found)
            assert read == whole[: len(read)], change.__name__
            assert said or torn, change.__name__
        if resumed is not None:
            assert described(resumed) == whole, change.__name__
            assert said_too or torn, change.__name__
    assert 20 < n_read < 180


def test_records_of_a_journal(tmp_path):
    path, copy = tmp_path / "study.jsonl", tmp_path / "copy.jsonl"
    run(path)
    records = records_in(path)
    rng = random.Random(5)
    n_read = 0
    for _ in range(130):
        rewrite(path, other_value(records, rng))
        found, *_ = read_all(path, copy)
        n_read += found is not None
    assert 20 < n_read < 120
