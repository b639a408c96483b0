"""Own kernels in the commands beside `run`: each knows them, or says a true sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import answer
from tests.own.described import described
from tests.own.ports import OwnPort, changed

CASE = "fadd_relu_f32(shape=[3,5,7],layout=transposed,values=unit)"


@pytest.mark.slow("compiles a file for an AMD target")
def test_build_counts_them_and_joins_a_run(port: OwnPort, capfd: pytest.CaptureFixture[str]) -> None:
    said = answer(capfd, "build", "--arch", "gfx942", "--json", "build.json")
    if said.code == 2 and "clang" in said.err:
        pytest.skip("needs a compiler for AMD targets")
    assert said.code == 0
    line = "gfx942: 0 of Candle's 748 kernels compile, 2 of the port's 2 own kernels; nothing was executed"
    assert line in said.out.splitlines()
    rows = json.loads(Path("build.json").read_text())["own"]
    assert [(row["status"], list(row["compiles_for"])) for row in rows] == [("not_run", ["gfx942"])] * 2
    run = answer(capfd, "run", "--runtime", "cpu", "-j", "1", "--own", CASE, "--json", "run.json")
    assert run.code == 0
    assert answer(capfd, "report", "run.json", "build.json", "--json", "both.json").code == 0
    both = json.loads(Path("both.json").read_text())["own"]
    assert [(row["status"], list(row["compiles_for"])) for row in both] == [
        ("pass", ["gfx942"]),
        ("not_run", ["gfx942"]),
    ]


@pytest.mark.slow("compiles a file for an AMD target")
def test_build_reads_what_the_port_declares_of_them(port: OwnPort, capfd: pytest.CaptureFixture[str]) -> None:
    port.declaration.write_text(port.declaration.read_text() + '[[launch]]\nkernels = "fadd_*"\nblock = [64]\n')
    said = answer(capfd, "build", "--arch", "gfx942")
    if said.code == 2 and "clang" in said.err:
        pytest.skip("needs a compiler for AMD targets")
    assert (said.code, said.err) == (0, "")


@pytest.mark.nightly("compiles a file and judges a kernel")
def test_a_reference_is_judged_by_recorded_launches(port: OwnPort, capfd: pytest.CaptureFixture[str]) -> None:
    assert answer(capfd, "record", "--runtime", "cpu", "-j", "1", "--own", "traces", CASE).code == 0
    replayed = ("replay", "traces", "--subject", "reference", "-j", "1")
    assert answer(capfd, *replayed, "--own").code == 0
    said = answer(capfd, *replayed)
    assert said.code == 2
    assert "give --own where you trust the port" in said.err
    changed(port.reference, "total < 0", "total < 1")
    said = answer(capfd, *replayed, "--own")
    assert said.code == 1
    again = f"replay traces --subject reference --own '{CASE.replace('(', '(trace=generated,')}'"
    assert again in said.out


def test_an_exported_case_names_the_ports_spec(port: OwnPort, capfd: pytest.CaptureFixture[str]) -> None:
    assert answer(capfd, "export", "--own", "--safetensors", "cases", CASE).code == 0
    content = Path("cases/fused/fadd_relu_f32.safetensors").read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    assert header["__metadata__"]["upstream"] == "none; an own kernel of the port, parity/specs/fused.yaml:9"


@pytest.mark.slow("compiles a file and times kernels")
def test_bench_says_what_a_spec_lacks(port: OwnPort, capfd: pytest.CaptureFixture[str]) -> None:
    words = ("bench", "--runtime", "cpu", "-j", "1", "fadd_relu_f32")
    said = answer(capfd, *words)
    assert said.code == 1
    assert "give a full case id, or add `bench: [{small: [...]}]` with cases at parity/specs/fused.yaml:9" in said.out
    changed(port.spec, "  tolerance:", '  bench:\n  - {small: ["shape=[64]"]}\n  tolerance:')
    said = answer(capfd, *words)
    assert said.code == 0
    assert "1 workload" in said.out


def test_list_and_export_know_described_kernels(port: OwnPort, capfd: pytest.CaptureFixture[str]) -> None:
    described(port)
    said = answer(capfd, "list", "pick_rows_*", "--cases")
    assert said.out.splitlines() == [
        "pick_rows_f32(shape=[5,7],values=unit)",
        "pick_rows_f32(shape=[40,3],values=unit,n=100)",
    ]
    assert answer(capfd, "export", "--own", "--safetensors", "cases", "pick_rows_f32").code == 0
    assert Path("cases/rowwise/pick_rows_f32.safetensors").exists()
