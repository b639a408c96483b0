"""Goldens: what `export` writes, read back with the Python package."""

from __future__ import annotations

import json
import sys

import ml_dtypes
import numpy as np
import pytest

import reference
from conformance.cases import launch_for
from conformance.cases.case import Case
from conformance.spec.load import load_specs
from tests.commands import refused

CASE = "uneg_f32(shape=[3,5,7],layout=transposed,values=unit)"


def exported(cli, folder, *words):
    safetensors = pytest.importorskip("safetensors", reason="pip install 'candle-parity[export]'")
    assert cli("export", "--safetensors", folder, *words).code == 0
    (path,) = folder.rglob("*.safetensors")
    with safetensors.safe_open(path, "np") as file:
        metadata = file.metadata()
    arrays = dict(safetensors.deserialize(path.read_bytes()))
    return metadata, json.loads(metadata["case.0"]), arrays


def test_the_numbers_of_a_case_are_all_there(cli, tmp_path):
    """A strided negation, launched with nothing but the file."""
    metadata, case, arrays = exported(cli, tmp_path, CASE)
    assert (metadata["kernel"], metadata["cases"], case["id"]) == ("uneg_f32", "1", CASE)
    assert (case["grid"], case["block"]) == ([1, 1, 1], [1024, 1, 1])
    info = np.frombuffer(arrays["0.info"]["data"], np.uint64)
    inp, before, after = (
        np.frombuffer(arrays[f"0.{name}"]["data"], np.float32) for name in ("inp", "out", "out.value")
    )
    shape, strides = info[:3].astype(int), info[3:].astype(int)
    right = -np.lib.stride_tricks.as_strided(inp, shape, strides * 4).reshape(-1)
    numel = int(np.frombuffer(arrays["0.numel"]["data"], np.uint64)[()].item())
    assert numel == right.size == 105
    assert np.array_equal(after[:numel], right)
    assert case["args"][-1]["written"] == [[0, numel]]
    assert set(before.tobytes()) == {int(case["poison_byte"], 16)}
    assert after[numel:].tobytes() == before[numel:].tobytes()


def test_intervals_are_those_of_the_reference(cli, tmp_path):
    text = "usilu_bf16(shape=[33],values=large)"
    _, _, arrays = exported(cli, tmp_path, text)
    kernel = load_specs().kernels["usilu_bf16"]
    launch = launch_for(kernel, Case.parse(text))
    bound = kernel.tolerance.library_ulp
    expected = reference.evaluate(kernel.module, kernel.family, kernel.variant, bound, launch.reference_arguments())[
        "out"
    ]
    assert arrays["0.out.value"]["dtype"] == "BF16"
    for part in ("value", "low", "high"):
        read = np.frombuffer(arrays[f"0.out.{part}"]["data"], ml_dtypes.bfloat16)
        assert read.tobytes() == getattr(expected, part).tobytes()


def test_the_bytes_are_the_same_every_time(cli, tmp_path):
    pytest.importorskip("safetensors", reason="pip install 'candle-parity[export]'")
    said = [cli("export", "--safetensors", tmp_path / name, "fill_*8_e4m3", "fill_u8") for name in "ab"]
    assert [one.code for one in said] == [0, 0]
    files = [sorted((tmp_path / name).rglob("*.safetensors")) for name in "ab"]
    assert len(files[0]) == 2
    assert [path.read_bytes() for path in files[0]] == [path.read_bytes() for path in files[1]]


def test_without_the_package_it_says_what_to_install(cli, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    refused(cli("export", "--safetensors", tmp_path / "out", "fill_u8"), "pip install 'safetensors>=0.5'")
    assert not (tmp_path / "out").exists()


def test_a_call_of_a_launcher_has_no_geometry(cli, tmp_path):
    text = "launch_mmq_gguf_q8_0(ncols=256,nrows=5,columns=2,gap=3,values=random)"
    metadata, case, arrays = exported(cli, tmp_path, text)
    assert (metadata["entry"], metadata["module"], "grid" in case) == ("launcher", "mmq", False)
    kinds = {one["name"]: one for one in case["args"]}
    assert kinds["tmp_fixup"] == {"name": "tmp_fixup", "kind": "scratch", "bytes": 16 * 1024 * 1024}
    assert kinds["stream"]["kind"] == "stream"
    assert kinds["dst"]["written"] == [[0, 10]]  # upstream ignores stride_col_dst
    assert set(arrays["0.dst"]["data"]) == {int(case["poison_byte"], 16)}
    assert not any(name.startswith("0.tmp_fixup") for name in arrays)


def test_gaps_between_columns_are_not_to_be_written(cli, tmp_path):
    _, case, _ = exported(
        cli, tmp_path, "launch_mmvq_gguf_q8_0_f32_plain(ncols=256,nrows=5,columns=2,gap=3,values=random)"
    )
    assert next(one["written"] for one in case["args"] if one["name"] == "dst") == [[0, 5], [8, 13]]
