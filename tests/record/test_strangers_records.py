"""Records from strangers: whatever a file holds, reading it takes little memory and ends with one sentence."""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.outcome import Failure
from conformance.record import FileError, read_record, record_text
from conformance.record.bench import read_bench
from tests.record.made import record, row

MOST_KIB = 500_000
"""Of resident memory, of a process that reads a record."""

READS = """
import sys
from pathlib import Path
from conformance.record import FileError, read_record
try:
    print("read", len(read_record(Path(sys.argv[1])).kernels))
except FileError as error:
    print(error)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
TEXT = record_text(record(row("a_f32", "fail", ["x=1"], failures=(Failure("a_f32(x=1)", "wrong"),))))


def damaged(**parts: str) -> str:
    """The record's text with the JSON of some of its fields in their place: of ``run``, of its one row, or its own."""
    data = json.loads(TEXT)
    places: dict[str, dict[str, Any]] = {
        key: place for place in (data["run"], data["kernels"][0], data) for key in place
    }
    marks = {key: f"<{key}>" for key in parts}
    for key, mark in marks.items():
        places[key][key] = mark
    text = json.dumps(data)
    for key, mark in marks.items():
        text = text.replace(json.dumps(mark), parts[key])
    return text


def many(what: str, count: int) -> str:
    return f"[{','.join([what] * count)}]"


def keyed(what: str, count: int) -> str:
    return "{" + ",".join(f'"{number:x}":{what}' for number in range(count)) + "}"


FAILURE = '{"case":"","why":""}'
HOSTILE = {
    "rows of 1.5 million empty objects": (
        lambda: damaged(kernels=many("{}", 1_500_000)),
        "commas, colons and brackets",
    ),
    "as many empty rows as there may be": (
        lambda: damaged(kernels=many("{}", 50_000)),
        "kernels.0.name: Field required",
    ),
    "rows of the least that is a row": (lambda: damaged(kernels=many("[]", 900_000)), "a list of 900,000 rows"),
    "failures": (lambda: damaged(kernels=many(f'{{"failures":{many(FAILURE, 15_000)}}}', 20)), "kernels.0.name"),
    "right failures": (lambda: damaged(failures=many(FAILURE, 50_000)), "read 1"),
    "texts where there is none": (lambda: damaged(passed=many("1", 50_000), orders=many("1", 50_000)), "run.orders.0"),
    "errors by name": (
        lambda: damaged(builds=keyed(f'{{"compiler":"","started":"","failed":{keyed("1", 4_000)}}}', 200)),
        "'0' is of type int, not str",
    ),
    "builds that are none": (lambda: damaged(builds=keyed("{}", 10_000)), "run.builds.0.compiler: Field required"),
    "names": (lambda: damaged(source_lines=keyed("1", 10_001)), "an object of 10,001 keys"),
    "unknown fields": (
        lambda: damaged(kernels="[],\n" + '"more":' + many('["ab"]', 600_000)),
        "a list of 600,000 rows",
    ),
    "one long text": (lambda: damaged(device=json.dumps("x" * 20_000_000)), "a text of 20,000,000 characters"),
    "a text of the widest characters": (
        lambda: damaged(device=f'"\U0001f980{"x" * 30_000_000}"'),
        "a text of 30,000,001 characters",
    ),
    "blanks": (lambda: TEXT + " " * (33 << 20), "it is larger than 32 MiB"),
    "levels": (lambda: damaged(device="[" * 25 + "]" * 25), "levels of nesting"),
    "more levels than Python has": (lambda: damaged(device="[" * 100_000 + "]" * 100_000), "nested too deep"),
}


def read_in_a_process(path: Path) -> tuple[str, int]:
    """What reading the record comes to, and the KiB of memory that it took."""
    done = subprocess.run([sys.executable, "-c", READS, path], capture_output=True, text=True, check=True)
    said, most = done.stdout.splitlines()
    return said, int(most)


@pytest.mark.nightly("a process for each file, which reads up to 32 MB")
@pytest.mark.parametrize(("make", "said"), HOSTILE.values(), ids=HOSTILE.keys())
def test_no_record_takes_more_than_500_mb(tmp_path: Path, make: Any, said: str) -> None:
    path = tmp_path / "r.json.xz"
    path.write_bytes(lzma.compress(make().encode(), preset=1))
    answer, most = read_in_a_process(path)
    assert said in answer
    assert len(answer) < 600
    assert most < MOST_KIB


def test_the_record_of_820_bytes_is_refused_before_its_rows_are_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "r.json.xz"
    path.write_bytes(lzma.compress(damaged(kernels=many("{}", 1_500_000)).encode()))
    assert path.stat().st_size < 2_000
    with pytest.raises(FileError, match=r"it has 3,000,[0-9]+ commas, colons and brackets; .* fewer than 2,000,000"):
        read_record(path)
    with pytest.raises(FileError, match="commas, colons and brackets"):
        read_bench(path)


def test_the_first_error_ends_it(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(damaged(kernels=many('{"name":"x"}', 3)))
    with pytest.raises(FileError, match=r"kernels\.0\.module: Field required") as caught:
        read_record(path)
    cause = caught.value.__context__
    assert {error["loc"][1] for error in cause.errors()} == {0}  # type: ignore[union-attr]
