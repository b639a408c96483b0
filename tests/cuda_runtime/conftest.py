"""Stand-ins for NVIDIA's libraries, and the count of tests that ran on a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.runtimes.cpu.build import BuildError
from conformance.runtimes.cuda.control import nvidia_devices
from conformance.toolchains.host import NoCompiler, find_toolchain
from tests.cuda_runtime.machine import LIBCUDA, NVRTC, build_stand_in


@pytest.fixture(scope="session")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The driver's and NVRTC's, built once."""
    try:
        find_toolchain(links_standard_library=True)
    except NoCompiler as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("stand_ins")
    return build_stand_in("driver", folder), build_stand_in("nvrtc", folder)


@pytest.fixture
def over_stand_ins(stand_ins: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes started meanwhile find the stand-ins in place of NVIDIA's libraries."""
    monkeypatch.setenv(LIBCUDA, str(stand_ins[0]))
    monkeypatch.setenv(NVRTC, str(stand_ins[1]))
    monkeypatch.delenv("HIPCUDA_INCLUDE", raising=False)
    monkeypatch.delenv("STAND_IN_FAULT", raising=False)


@pytest.fixture
def nvidia_gpu() -> None:
    """Skips, with the reason, where there is no NVIDIA GPU."""
    try:
        devices, why = nvidia_devices()
    except (NoCompiler, BuildError) as error:
        devices, why = 0, str(error)
    if not devices:
        pytest.skip(f"NOT RUN, no NVIDIA GPU: {why}")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "on_nvidia_gpu: runs where there is an NVIDIA GPU, and is skipped elsewhere")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    ran = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
        if "on_nvidia_gpu" in getattr(report, "keywords", {}) and report.when == "call"
    ]
    skipped = [report for report in terminalreporter.stats.get("skipped", []) if "on_nvidia_gpu" in report.keywords]
    if ran or skipped:
        terminalreporter.write_line(f"on an NVIDIA GPU: {len(ran)} tests ran, {len(skipped)} were skipped")
