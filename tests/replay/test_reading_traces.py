"""Reading recorded traces: what a good one becomes, and what each defect is answered with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conformance.cases.launch import Buffer, Null, Scalar
from conformance.replay.archive import SUFFIX, write_archive
from conformance.replay.traces import TraceError, Traces
from conformance.spec.load import load_specs

KERNEL = load_specs().kernels["uexp_f32"]
FILE = f"unary{SUFFIX}"


def case(**changes):
    size_t = {"kind": "scalar", "dtype": "uint64", "value": "0300000000000000"}
    inp = {"kind": "buf", "name": "inp", "role": "in", "dtype": "float32", "n": 3, "data": "aa"}
    out = {
        "kind": "buf",
        "name": "out",
        "role": "out",
        "dtype": "float32",
        "n": 4,
        "data": None,
        "fill": 165,
        "expect": "bb",
    }
    row = {"kernel": "uexp_f32", "case": "tiny", "grid": [1, 1, 1], "block": [1024, 1, 1], "shared": 0}
    return row | {"args": [size_t, size_t, {"kind": "null"}, inp, out]} | changes


def write(folder: Path, rows=None, pool=None) -> Traces:
    rows = [case()] if rows is None else rows
    arrays = {"aa": np.zeros(3, np.uint32), "bb": np.array([1, 2, 3, 0xA5A5A5A5], np.uint32)} if pool is None else pool
    write_archive(folder / FILE, rows, arrays)
    return Traces(folder)


def test_a_trace_becomes_a_launch_and_its_answer(tmp_path):
    (trace,) = write(tmp_path).of(KERNEL)
    assert trace.case.id == "uexp_f32(trace=tiny)"
    assert trace.launch.block == (1024, 1, 1)
    numel, _, info, inp, out = trace.launch.args
    assert isinstance(numel, Scalar)
    assert int(numel.value) == 3
    assert isinstance(info, Null)
    assert isinstance(inp, Buffer)
    assert inp.data.dtype == np.float32
    assert out.data.tobytes() == b"\xa5" * 16
    assert trace.answer["out"].view(np.uint32).tolist() == [1, 2, 3, 0xA5A5A5A5]


@pytest.mark.parametrize(
    ("rows", "pool", "words"),
    [
        ([case()], {"aa": np.zeros(3, np.uint32)}, "array bb (out, expect) is missing from unary.traces.xz"),
        ([case()], {"aa": np.zeros(2, np.uint32), "bb": np.zeros(4, np.uint32)}, "array aa (inp, data) has 8 bytes"),
        ([case(args=[])], None, "0 arguments, the spec of uexp_f32 5 parameters"),
        ([case(args=[{"kind": "blob"}] * 5)], None, "unknown kind 'blob'"),
        ([case(grid=None)], None, "missing or malformed"),
        ([case(args=[{"kind": "stream"}] * 5)], None, "numel is of kind 'stream', its parameter a scalar"),
        ([case(args=[{"kind": "scratch"}] * 5)], None, "numel is of kind 'scratch', its parameter a scalar"),
    ],
)
def test_a_defective_case_names_the_file_and_the_case(tmp_path, rows, pool, words):
    with pytest.raises(TraceError) as caught:
        list(write(tmp_path, rows, pool).of(KERNEL))
    assert words in str(caught.value)
    assert f"{FILE}: case uexp_f32(trace=tiny)" in str(caught.value)


def test_a_file_that_goes_or_is_cut_before_its_arrays_are_read_is_named(tmp_path):
    traces = write(tmp_path)
    whole = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TraceError, match=r"unary\.traces\.xz: is not a trace archive"):
        list(traces.of(KERNEL))
    (tmp_path / FILE).unlink()
    with pytest.raises(TraceError, match=r"unary\.traces\.xz: cannot be read \(No such file"):
        list(traces.of(KERNEL))


@pytest.mark.parametrize("rows", ["{", [1], {"kernel": 1}])
def test_a_file_that_holds_no_list_of_cases_is_named(tmp_path, rows):
    with pytest.raises(TraceError, match=r"unary\.traces\.xz: is not a list of trace cases"):
        write(tmp_path, rows)


def test_a_folder_without_traces_is_named(tmp_path):
    with pytest.raises(TraceError, match=r"holds no MODULE\.traces\.xz"):
        Traces(tmp_path)
    with pytest.raises(TraceError, match="no such folder"):
        Traces(tmp_path / "absent")


@pytest.mark.parametrize("damage", [lambda data: data[: len(data) // 2], lambda data: b"text", lambda data: b""])
def test_a_damaged_archive_is_named(tmp_path, damage):
    write(tmp_path)
    path = tmp_path / FILE
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(TraceError, match=r"unary\.traces\.xz: is not a trace archive"):
        Traces(tmp_path)
