"""JSON that commands read (records, wirings, measurements): one sentence with the file and exit code 2."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from conformance.spec.load import load_specs
from tests.commands import refused

READERS = {
    "record": ["report"],
    "wiring": ["report", "RECORD", "--wiring"],
    "measurement": ["bench", "--from"],
}

CONTENT = {
    "nothing": b"",
    "nested 100,000 deep": b"[" * 100_000,
    "nested in a kernel": b'{"schema": 1, "kernels": ' + b"[" * 100_000,
    "a number": b"3",
    "a list": b"[]",
    "an object": b"{}",
    "kernels are a number": b'{"schema": 1, "kernels": 3}',
    "kernels are texts": b'{"schema": 1, "kernels": ["uneg_f32"]}',
    "places are a text": b'{"schema": 1, "kernels": [{"name": "uneg_f32", "wired_at": "here"}]}',
    "a name is a list": b'{"schema": 1, "kernels": [{"name": ["uneg_f32"], "wired_at": []}]}',
    "NaN": b'{"schema": NaN, "kernels": []}',
    "an integer of 5,000 digits": b'{"schema": ' + b"9" * 5000 + b"}",
    "an infinite number": b'{"schema": 1e999}',
    "not UTF-8": b'{"schema": "caf\xe9"}',
    "UTF-16": '{"schema": 1}'.encode("utf-16"),
}


@pytest.fixture
def record(cli, tmp_path: Path) -> Path:
    path = tmp_path / "good.json"
    assert cli("run", "fill_u8(shape=[3],value=pattern)", "--runtime", "cpu", "--json", path).code == 0
    return path


def words_of(reader: str, good: Path, path: object) -> list[object]:
    return [good if word == "RECORD" else word for word in READERS[reader]] + [path]


@pytest.mark.slow("whole runs by the command")
def test_json_that_is_none_of_them(cli, tmp_path: Path, record: Path) -> None:
    path = tmp_path / "bad.json"
    for reader in READERS:
        for content in CONTENT.values():
            path.write_bytes(content)
            said = cli(*words_of(reader, record, path))
            refused(said, "bad.json")
            assert "defect" not in said.err
            assert len(said.err) < 1000
        refused(cli(*words_of(reader, record, tmp_path)), tmp_path.name, "directory")
        refused(cli(*words_of(reader, record, tmp_path / "absent.json")), "absent.json")


@pytest.mark.slow("whole runs by the command")
def test_a_record_and_a_wiring_may_come_through_a_pipe(cli, tmp_path: Path, record: Path) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    wiring = {"kernels": [{"name": name, "wired_at": ["a.rs:1"]} for name in load_specs().kernels]}
    for words, content in (
        (["report", pipe], record.read_bytes()),
        (["report", record, "--wiring", pipe], json.dumps(wiring).encode()),
    ):
        writer = threading.Thread(target=pipe.write_bytes, args=(content,))
        writer.start()
        assert cli(*words).code == 0
        writer.join()
