"""``--shard I/N``: the partition, and shards that ``report`` joins."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from conformance.cli import shards
from conformance.cli.judge import journal_of
from conformance.cli.shards import COSTS, measured, shards_of
from conformance.engine.recordings import JudgeReference
from conformance.errors import UsageError
from conformance.files import spec_folder, traces_folder
from conformance.option import Shard, shard_of
from conformance.session.setup import setup_of_reference
from conformance.settings import Settings
from conformance.spec.load import load_specs
from tests.record.made import record, row

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("text", "found"), [("1/1", Shard(1, 1)), ("4/4", Shard(4, 4)), ("02/12", Shard(2, 12))])
def test_a_shard(text: str, found: Shard) -> None:
    assert shard_of(text) == found


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "/", "1/", "-1/4", "1/4/4", "a/b", "1/٤", "1/1000000"])
def test_what_is_not_a_shard(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="expected I/N"):
        shard_of(text)


@pytest.mark.parametrize("of", [1, 2, 3, 4, 7, 16, 100, 797])
def test_every_kernel_and_launcher_is_in_one_shard_of_about_the_same_cost(of: int) -> None:
    specs = load_specs()
    kernels = [*specs.kernels.values(), *specs.launchers.values()]
    known = json.loads((spec_folder() / COSTS).read_text())
    costs = {kernel.name: known.get(kernel.name, sum(known.values()) / len(known)) for kernel in kernels}
    found = shards_of(kernels, of)
    assert list(found) == [kernel.name for kernel in kernels]
    assert {its.index for its in found.values()} == set(range(1, of + 1))
    sums = [sum(costs[name] for name, its in found.items() if its.index == index + 1) for index in range(of)]
    if of <= 16:
        assert max(sums) - min(sums) <= 2 * max(costs.values())
    # Neighbours stay together, so that few files are compiled in two shards.
    indices = [its.index for its in found.values()]
    assert indices == sorted(indices)


def test_launchers_are_split_by_their_own_costs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Eight that cost nine seconds each, behind kernels of one second: in two shards, the second has five of them."""
    specs = load_specs()
    kernels, launchers = list(specs.kernels.values())[:18], list(specs.launchers.values())[:8]
    costs = {**{kernel.name: 1.0 for kernel in kernels}, **{launcher.name: 9.0 for launcher in launchers}}
    (tmp_path / COSTS).write_text(json.dumps(costs))
    monkeypatch.setattr(shards, "spec_folder", lambda: tmp_path)
    found = shards_of([*kernels, *launchers], 2)
    assert [name for name, its in found.items() if its.index == 2] == [launcher.name for launcher in launchers[3:]]


def test_few_kernels_and_kernels_without_a_known_cost_fill_every_shard() -> None:
    kernels = list(load_specs().kernels.values())[:5]
    for of in range(1, 6):
        assert {its.index for its in shards_of(kernels, of).values()} == set(range(1, of + 1))
    with pytest.raises(UsageError, match="5 kernels are selected, which is less than 6 shards"):
        shards_of(kernels, 6)


def test_the_costs_are_of_kernels_that_there_are() -> None:
    """A kernel that is not in the file costs what a kernel usually does; of launchers there is no such cost."""
    costs, specs = json.loads((spec_folder() / COSTS).read_text()), load_specs()
    assert costs.keys() <= {*specs.kernels, *specs.launchers}
    assert costs.keys() >= specs.launchers.keys()
    assert all(cost > 0 for cost in costs.values())


def test_the_costs_are_the_least_of_what_records_have_measured() -> None:
    rows = [row("a", "pass", seconds=0.12345), row("b", "fail", ["n=1"], seconds=0.0), row("c", "missing", seconds=1.0)]
    first = record(*rows).model_copy(update={"launchers": (row("launch_a", "pass", seconds=2.0),)})
    assert json.loads(measured([first])) == {"a": 0.123, "b": 0.001, "launch_a": 2.0}
    second = record(row("a", "pass", seconds=0.1), row("b", "pass", seconds=0.2), row("d", "pass", seconds=3.0))
    assert json.loads(measured([first, second])) == {"a": 0.1, "b": 0.001, "launch_a": 2.0, "d": 3.0}


def test_a_shard_has_a_journal_of_its_own() -> None:
    """Else ``--resume`` would take over the verdicts of another one."""
    setup, mode = setup_of_reference(Settings(), ["candle-parity"]), JudgeReference(traces_folder())
    asked = {"patterns": [], "module": None, "resume": False}
    of = (None, Shard(1, 2), Shard(2, 2))
    assert len({journal_of(setup, mode, argparse.Namespace(**asked, shard=one)).path for one in of}) == 3


PORT = """#include <hip/hip_runtime.h>
#define FILL(NAME, T) extern "C" __global__ void NAME(T *buf, T value, size_t numel) {{                     \\
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < numel; i += (size_t)blockDim.x * gridDim.x)   \\
    buf[i] = value;                                                                                                  \\
}}
FILL(fill_u8, unsigned char)
FILL(fill_u32, unsigned)
FILL(fill_i64, long long)
extern "C" __global__ void fill_f32(float *buf, float value, size_t numel) {{ buf[0] = value; }}
""".replace("{{", "{").replace("}}", "}")


def without_times(path: str) -> str:
    data = json.loads(Path(path).read_text())
    for part in (data["run"], *data["kernels"]):
        part.pop("seconds")
    del data["run"]["started"]
    return json.dumps(data)


@pytest.mark.nightly("whole runs by the command")
def test_four_shards_come_to_the_record_of_one_run(cli, port, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fourth shard has only kernels that the port does not define."""
    folder = port(PORT, "fill.hip")
    monkeypatch.chdir(tmp_path)
    words = ("--runtime", "cpu", "--order", "forward", "--kernels", folder, "-j", "1", "fill_*")
    assert cli("run", *words, "--json", "whole.json").code == 1
    codes = [cli("run", *words, "--shard", f"{n}/4", "--json", f"{n}.json").code for n in (1, 2, 3, 4)]
    assert 2 not in codes
    gated = cli("run", *words, "--shard", "4/4", "--json", "4.json", "--fail-under", "0.4")
    assert gated.code == 0
    assert "gates are for all shards together" in gated.out
    said = cli("report", "3.json", "1.json", "4.json", "2.json", "--json", "joined.json", "--fail-under", "0.4")
    assert said.code == 0
    assert "coverage 0.40% (3 of 748 kernels), gate 0.4%: met" in said.out
    assert without_times("joined.json") == without_times("whole.json")
    assert cli("report", "1.json", "2.json", "3.json", "4.json", "--fail-under", "0.5").code == 1
    assert cli("report", "1.json", "2.json", "3.json", "4.json", "--baseline", "whole.json").code == 0
    # One is missing.
    said = cli("report", "1.json", "2.json", "4.json", "--fail-under", "0", "--md", "gap.md")
    assert said.code == 2
    assert said.out.strip().endswith("not decided: a shard is missing")
    assert "shard 3/4 is missing: " in said.err
    assert "shard 3/4 is missing" in Path("gap.md").read_text()
    said = cli("report", "1.json", "2.json", "4.json")
    assert said.code == 2
    assert "of 748 kernels at parity" in said.out
    # Of two runs there is no one record.
    said = cli("report", "1.json", str(ROOT / "reports" / "records" / "parity.json.xz"), "--json", "two.json")
    assert said.code == 2
    assert "--json is for the records of one run, and these are of 2" in said.err
    said = cli("run", *words, "--shard", "1/99")
    assert said.code == 2
    assert "8 kernels are selected" in said.err
