"""Devices that hang, over the stand-in: every wait has an end, and what can go on goes on."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.engine import executor_host
from conformance.engine.executor_host import Host
from conformance.engine.messages import Setup
from conformance.engine.modes import JudgeGenerated, Tree
from conformance.engine.pool import EngineError
from conformance.engine.run import run
from conformance.processes import InfrastructureError, Supervisor
from conformance.runtimes.kind import Choice
from conformance.spec.load import load_specs
from tests.rocm_runtime.stand_in import ARCH, code_object, kernel_row

NAMES = ("fill_u8", "fill_u32", "fill_f32", "fill_i64", "fill_f64")

pytestmark = pytest.mark.usefixtures("over_stand_in")


def setup_for(folder: Path) -> Setup:
    specs = load_specs().kernels
    (folder / "fill.hsaco").write_bytes(code_object([kernel_row(specs[name]) for name in NAMES]))
    return Setup(runtime="rocm", orders=("forward",), command="candle-parity run", choice=Choice("rocm"))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor_host, "SECONDS_TO_START", 4.0)
    monkeypatch.setattr(executor_host, "SECONDS_TO_END", 2.0)


@pytest.mark.slow("waits for devices that hang")
def test_a_device_that_does_not_open_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, impatient: None) -> None:
    monkeypatch.setenv("STAND_IN_HIP_HANGING", "0")
    with pytest.raises(EngineError, match=r"device 0 of the rocm runtime did not open within 4 s.*reset the GPU"):
        run(setup_for(tmp_path), JudgeGenerated(Tree.at(tmp_path)), [load_specs().kernels[name] for name in NAMES])


@pytest.mark.slow("waits for a limit of seconds")
def test_a_device_that_hangs_is_waited_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, impatient: None
) -> None:
    monkeypatch.setenv("STAND_IN_HIP_HANGING", "0")
    with Supervisor() as supervisor:
        host = Host(supervisor, setup_for(tmp_path), [])
        for _ in range(50):  # without the memory of the first: more than three minutes
            with pytest.raises(InfrastructureError, match="did not open within 4 s"):
                host.start([0])
        host.close()


@pytest.mark.slow("waits for devices that hang")
def test_the_kernels_of_a_device_that_hangs_are_left_to_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, impatient: None
) -> None:
    monkeypatch.setenv("STAND_IN_HIP_DEVICES", f"{ARCH},{ARCH}")
    monkeypatch.setenv("STAND_IN_HIP_HANGING", "1")
    setup = replace(setup_for(tmp_path), choice=Choice("rocm", (0, 1)))
    result = run(setup, JudgeGenerated(Tree.at(tmp_path)), [load_specs().kernels[name] for name in NAMES], jobs=2)
    assert {name: outcome.status for name, outcome in result.outcomes.items()} == dict.fromkeys(NAMES, "pass")


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    with Supervisor() as supervisor:
        host = Host(supervisor, setup_for(tmp_path), [])
        yield host
        host.close()


@pytest.mark.slow("waits for a limit of seconds")
def test_a_host_that_does_not_answer_is_killed_with_its_executors(host: Host, impatient: None) -> None:
    # As when a child waits for a driver so that not even SIGKILL ends it.
    state = host.start([0])
    assert host._process is not None
    os.kill(host._process.child.pid, signal.SIGSTOP)
    host.stop(state)
    assert state.how is not None
    assert host.start([0]).ready is not None
