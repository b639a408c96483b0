"""``doctor``: what a machine has, and whether kernels can be run on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.cli import machine
from conformance.cli.commands import doctor
from conformance.cli.commands.doctor import rendered
from conformance.cli.machine import Row
from conformance.cli.main import main
from conformance.runtimes import choose
from conformance.runtimes.cuda import nvcc
from conformance.runtimes.kind import Choice
from conformance.runtimes.rocm import kind
from conformance.runtimes.rocm.devices import AmdDevice, Probe
from conformance.toolchains import libraries
from conformance.toolchains.host import NoCompiler
from conformance.toolchains.libraries import LibraryCompiler

NO_GPU = "HIP shows no device; this user may not open /dev/kfd: join the group render"


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind, "probed", lambda: Probe((), NO_GPU))
    monkeypatch.setattr(machine, "probed", lambda: Probe((), NO_GPU))


@pytest.mark.slow("whole runs by the command")
def test_a_host_that_can_run_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--runtime", "cpu"]) == 0
    printed = capsys.readouterr().out
    assert "ok  a kernel        compiled, launched, read back: right, on candle-parity cpu runtime" in printed
    assert "ok  a fault         a kernel that faults is a crash and costs nothing else" in printed
    assert "\nkernels can be run; " in printed
    assert all(line[:4] in ("ok  ", "--  ", "!!  ", "    ", "", "kern") for line in printed.splitlines())


@pytest.mark.slow("runs the command for each row")
def test_a_rocm_that_shows_no_gpu_says_what_to_do(no_gpu: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--runtime", "rocm"]) == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert f"!! AMD GPUs none -> {NO_GPU}" in printed
    assert f"!! runtime rocm cannot be used -> no AMD GPU can be used: {NO_GPU}; --runtime cpu runs" in printed
    assert "kernels cannot be run; " in printed


def test_auto_works_on_the_host_and_still_says_what_keeps_it_from_the_gpu(
    no_gpu: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kind, "nodes", lambda: [_Kfd()])
    monkeypatch.setattr(doctor, "trial_rows", lambda *_: iter([Row("ok", "a kernel", "right", decides=True)]))
    assert main(["doctor"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert f"!! AMD GPUs none -> {NO_GPU}" in printed
    assert "ok runtime cpu (chosen by auto)" in printed


class _Kfd:
    path = Path("/dev/kfd")

    def __str__(self) -> str:
        return "/dev/kfd"


def test_a_kernel_that_is_not_right_is_what_keeps_a_run_from_working(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = Row("todo", "a kernel", "fail in place of pass", "fill_u32(shape=[4]): 4 elements differ", decides=True)
    monkeypatch.setattr(doctor, "trial_rows", lambda *_: iter([wrong]))
    assert main(["doctor", "--runtime", "cpu"]) == 1
    assert "!!  a kernel        fail in place of pass\n" in capsys.readouterr().out


def test_a_device_of_another_architecture_is_named_as_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    card = AmdDevice(0, "Radeon RX 7900 XTX", "gfx1100", 32, 48, integrated=False)
    apu = AmdDevice(1, "Radeon Graphics", "gfx1036", 32, 1, integrated=True)
    probed = Probe((card, apu), hip="7.2.53211", driver="amdgpu 6.16.6")
    monkeypatch.setattr(kind, "probed", lambda: probed)
    monkeypatch.setattr(machine, "probed", lambda: probed)
    monkeypatch.setattr(kind, "installations", lambda: ["/opt/rocm/lib/libamdhip64.so"])
    told = {row.text: row.state for row in machine.machine_rows(choose("auto"))}
    assert told[str(card)] == "ok"
    assert told[f"{apu}, left out: another architecture"] == "none"
    assert told["7.2.53211, driver amdgpu 6.16.6"] == "ok"


def launcher_rows(runtime: str) -> dict[str, Row]:
    return {row.what: row for row in machine.machine_rows(Choice(runtime)) if row.what.startswith("launchers, ")}


def test_who_compiles_launchers_is_told_for_each_runtime(monkeypatch: pytest.MonkeyPatch, no_gpu: None) -> None:
    asked: list[str] = []

    def named(arch: str) -> LibraryCompiler:
        asked.append(arch)
        return LibraryCompiler((), f"a compiler for {arch}", "")

    monkeypatch.setattr(nvcc, "compiler_for", named)
    monkeypatch.setattr(libraries, "amd_library_compiler", named)
    found = launcher_rows("cpu")
    assert set(found) == {f"launchers, {name}" for name in ("cpu", "rocm", "cuda", "isa")}
    assert {row.state for row in found.values()} == {"ok"}
    assert found["launchers, cuda"].text == "a compiler for sm_90"
    assert found["launchers, rocm"].text == found["launchers, isa"].text == "a compiler for gfx942"
    assert sorted(asked) == ["gfx942", "gfx942", "sm_90"]


@pytest.mark.slow("runs the command several times")
@pytest.mark.parametrize(("runtime", "state"), [("cuda", "todo"), ("cpu", "none")])
def test_without_nvcc_it_says_what_to_install_for_launchers(
    runtime: str, state: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, no_gpu: None
) -> None:
    """It is to be mended where that runtime was asked for."""
    monkeypatch.setenv("CANDLE_PARITY_NVCC", str(tmp_path / "nvcc"))
    nvcc.compiler_for.cache_clear()  # another test of this process may have asked
    try:
        row = launcher_rows(runtime)["launchers, cuda"]
    finally:
        nvcc.compiler_for.cache_clear()
    assert (row.state, row.text) == (state, "no compiler; launchers are not_run")
    assert f"nvcc of CUDA 12 or newer, and there is none in {tmp_path}/nvcc" in row.todo
    assert "install a CUDA toolkit and g++" in row.todo
    assert "-> linked launchers are compiled by" in rendered(row)


def test_without_a_compiler_of_the_host_launchers_lack_the_one_of_kernels(
    monkeypatch: pytest.MonkeyPatch, no_gpu: None
) -> None:
    def nobody(**_: object) -> None:
        raise NoCompiler("no clang 16 or newer")

    monkeypatch.setattr(machine, "find_toolchain", nobody)
    assert launcher_rows("cpu")["launchers, cpu"].text == "none: as compiler, host"


def test_long_texts_and_what_to_do_are_wrapped_below_their_column() -> None:
    lines = rendered(Row("todo", "cache", "word " * 40, "make room there")).splitlines()
    assert lines[0].startswith("!!  cache           word word")
    assert all(line.startswith(" " * 20) for line in lines[1:])
    assert lines[-1] == " " * 20 + "-> make room there"
    assert max(map(len, lines)) <= 118


@pytest.mark.slow("starts a process for each kind of library of each runtime")
def test_python_of_the_working_directory_is_not_imported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Libraries are opened in processes of their own, and the folder that they start in may be a stranger's port."""
    (tmp_path / "conformance.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    monkeypatch.chdir(tmp_path)
    assert [row.what for row in machine._libraries(Choice("cpu"))] != []
    assert not Path("ran").exists()
