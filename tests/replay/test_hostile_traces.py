"""Traces that are there to hurt: ``TraceError`` with the file, no pickle, no bomb, no other exception."""

from __future__ import annotations

import json
import lzma
import os
from pathlib import Path

import numpy as np
import pytest

from conformance.replay.archive import write_archive
from conformance.replay.traces import TraceError, Traces
from tests.replay.test_reading_traces import FILE, KERNEL, case

POOL = {"aa": np.zeros(3, np.uint32), "bb": np.zeros(4, np.uint32)}


def written(folder: Path, rows: object = None) -> Path:
    """A folder of one module."""
    write_archive(folder / FILE, [case()] if rows is None else rows, POOL, preset=1)  # type: ignore[arg-type]
    return folder


def failure(folder: Path, file: str) -> str:
    with pytest.raises(TraceError) as caught:
        list(Traces(folder).of(KERNEL))
    message = str(caught.value)
    assert message.startswith(f"{folder / file}: ")
    assert "\n" not in message
    assert len(message) < 1000
    return message


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        ({}, "is not a list of trace cases"),
        ([[]], "is not a list of trace cases"),
        ([case(kernel=["uexp_f32"])], "is not a list of trace cases"),
        ([case(kernel="u" * 5000)], "is not a list of trace cases"),
        ([case(entry=[])], "is not a list of trace cases"),
        ([case(case={})], "is not a list of trace cases"),
        ([case(args={})], "is not a list of trace cases"),
        ([case(args=[1])], "is not a list of trace cases"),
        ([case(grid=3)], "grid must be three integers"),
        ([case(grid=[1, 1])], "grid must be three integers"),
        ([case(grid=[1, 0, 1])], "grid must be three integers"),
        ([case(block=[1 << 40, 1, 1])], "block must be three integers"),
        ([case(block=["1", 1, 1])], "block must be three integers"),
        ([case(shared=-1)], "shared must be an integer"),
        ([case(shared=1e9)], "shared must be an integer"),
    ],
)
def test_cases_that_are_none(rows: object, word: str, tmp_path: Path) -> None:
    assert word in failure(written(tmp_path, rows), FILE)


@pytest.mark.parametrize(
    ("place", "changes", "word"),
    [
        (0, {"value": "zz"}, "malformed"),
        (0, {"value": 3}, "malformed"),
        (0, {"kind": ["scalar"]}, "unknown kind"),
        (0, {"kind": "buf", "role": "in"}, "is a buf, which its parameter is not"),
        (3, {"kind": "scalar", "value": "00000000"}, "is a scalar, which its parameter is not"),
        (3, {"n": 1 << 60}, "elements, not a number up to"),
        (3, {"n": "3"}, "elements, not a number up to"),
        (3, {"dtype": "object"}, "expected 3 elements of object"),
        (3, {"dtype": "no type"}, "malformed"),
        (3, {"dtype": "9" * 5000 + "u1"}, "malformed"),
        (3, {"data": ["aa"]}, "is missing from"),
        (3, {"data": "cc"}, "array cc"),
        (3, {"role": "elsewhere"}, "unknown role"),
        (3, {"start": 4}, "starts at element 4 of 3"),
        (3, {"start": True}, "starts at element True"),
        (4, {"fill": 256}, "is filled with 256, not with a byte"),
        (4, {"fill": None}, "not with a byte"),
        (4, {"n": -1}, "elements, not a number up to"),
        (4, {"expect": None}, "is missing from"),
    ],
)
def test_arguments_that_are_none(place: int, changes: dict[str, object], word: str, tmp_path: Path) -> None:
    args = case()["args"]
    args[place] = {**args[place], **changes}
    message = failure(written(tmp_path, [case(args=args)]), FILE)
    assert word in message
    assert "uexp_f32(trace=tiny)" in message


def test_bombs_are_measured_before_they_are_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sysconf", lambda name: 1024)  # a machine with a MiB of memory
    write_archive(tmp_path / FILE, [case()], {**POOL, "cc": np.zeros(8 << 20, np.uint8)}, preset=1)
    assert (tmp_path / FILE).stat().st_size < 20_000
    assert "over the 0 MiB" in failure(tmp_path, FILE)


def archive(header: object, length: int | None = None, rest: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return lzma.compress((len(text) if length is None else length).to_bytes(8, "little") + text + rest)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "does not end as an xz file"),
        (b"PK" + bytes(50) + b"YZ", "is not a trace archive"),
        (archive(b'{"cases": [{"kernel": ' + b"9" * 5000 + b"}]}"), "is not a trace archive"),
        (archive(b'{"cases": [NaN, 1e999], "pool": []}'), "is not a list of trace cases"),
        (archive({}), "is not a trace archive"),
        (archive({"cases": [], "pool": [["a", "9" * 5000 + "u1", 1]]}), "is not a trace archive"),
        (archive([]), "is not a trace archive"),
        (archive(b"[" * 100_000), "RecursionError"),
        (archive(b"\xff"), "is not a trace archive"),
        (archive({}, length=1 << 62), "a header of"),
        (archive({}, length=1 << 20), "the header is incomplete"),
        (archive({"cases": [], "pool": [["aa", "|O", 1]]}), "not a number of unsigned integers"),
        (archive({"cases": [], "pool": [["aa", "|u1", -1]]}), "not a number of unsigned integers"),
        (archive({"cases": [], "pool": [["aa", "|u1", "3"]]}), "not a number of unsigned integers"),
        (archive({"cases": [], "pool": [["aa", "<u4,<u4", 1]]}), "not a number of unsigned integers"),
        (archive({"cases": [case()], "pool": [["aa", ">u4", 1]]}, rest=bytes(4)), "not a number of unsigned integers"),
        (archive({"cases": [case()], "pool": [["aa", "<u4", 3]]}, rest=bytes(11)), "array aa is incomplete"),
        (archive({"cases": [case()], "pool": [["aa", "<u4", 3]]}, rest=bytes(13)), "bytes follow the last array"),
        (archive({"cases": [], "pool": 3}), "is not a trace archive"),
        (archive({"cases": {}, "pool": []}), "is not a list of trace cases"),
    ],
)
def test_archives_that_are_none(content: bytes, word: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(content)
    assert word in failure(tmp_path, FILE)


@pytest.mark.parametrize("kind", ["folder", "FIFO"])
def test_something_else_in_place_of_a_file(kind: str, tmp_path: Path) -> None:
    path = tmp_path / FILE
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    assert "a " + kind in failure(tmp_path, FILE)
