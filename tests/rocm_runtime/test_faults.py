"""Faults as ROCm 6 and 7 tell them, over the stand-in: each costs its kernel, with ROCr's own line, and not the run."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.spec.load import load_specs
from tests.rocm_runtime.stand_in import FAULT_LINE, Ran, code_object, kernel_row, run

FAULTS = {
    "fill_u8": "abort",
    "fill_f32": "719",
    "fill_i64": "700",
    "fill_f64": "1",
    "const_set_u8": "999",
    "const_set_u32": "copy:700",
    "const_set_i64": "refused:701",
    "const_set_f32": "702",
    "copy2d_u8": "hang",
}
GOOD = "fill_u32"


pytestmark = pytest.mark.slow("waits for kernels that never end")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("faulty")


@pytest.fixture(scope="module")
def core_files() -> Iterator[None]:
    """Core files are allowed meanwhile."""
    before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_CORE, before)


@pytest.fixture(scope="module")
def faulty(stand_in_rocm: Path, folder: Path, core_files: None) -> Ran:
    """A run over kernels of which all but one fail, in every way that there is."""
    specs = load_specs().kernels
    rows = [kernel_row(specs[name], max_flat_workgroup_size=256) for name in (*FAULTS, GOOD)]
    (folder / "kernels").mkdir()
    (folder / "kernels/fill.hsaco").write_bytes(code_object(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROCM_PATH", str(stand_in_rocm))
        for name in ("LD_LIBRARY_PATH", "HSA_DISABLE_COREDUMP_ON_EXCEPTION"):
            patch.delenv(name, raising=False)
        faults = ",".join(f"{name}={fault}" for name, fault in FAULTS.items())
        words = ("-j", "2", *FAULTS, GOOD)
        ran = run(folder, *words, STAND_IN_HIP_FAULTS=faults, CANDLE_PARITY_HANG_SECONDS="8")
    assert ran.kernels, ran.err
    return ran


def test_a_good_kernel_passes_next_to_all_of_them(faulty: Ran) -> None:
    assert faulty.kernels[GOOD]["status"] == "pass"
    assert faulty.code == 1, faulty.err


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault not in ("hang", "702")])
def test_every_code_and_an_abort_are_a_crash(faulty: Ran, name: str) -> None:
    assert faulty.kernels[name]["status"] == "crash"
    assert f" {name}" in faulty.kernels[name]["failures"][0]["reproduce"].replace("'", " ")


@pytest.mark.parametrize("name", ["copy2d_u8", "const_set_f32"])
def test_what_does_not_end_is_a_timeout(faulty: Ran, name: str) -> None:
    assert faulty.kernels[name]["status"] == "timeout"


def test_an_abort_is_told_in_the_words_of_rocr(faulty: Ran) -> None:
    assert faulty.why("fill_u8") == f"its process ended with signal SIGABRT: {FAULT_LINE}"
    assert faulty.kernels["fill_u8"]["message"] == faulty.why("fill_u8")


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("fill_i64", "hipDeviceSynchronize returned hipErrorIllegalAddress (700)", FAULT_LINE),
        ("fill_f32", "hipDeviceSynchronize returned hipErrorLaunchFailure (719)", "HSA_STATUS_ERROR_EXCEPTION"),
        ("fill_f64", "hipDeviceSynchronize returned hipErrorInvalidValue (1)", "HSA_STATUS_ERROR_EXCEPTION"),
        ("const_set_u8", "(999)", "HSA_STATUS_ERROR_EXCEPTION"),
        ("const_set_u32", "hipMemcpy returned hipErrorIllegalAddress (700)", "illegal memory access"),
    ],
)
def test_a_code_is_told_with_what_rocr_wrote_meanwhile(faulty: Ran, name: str, code: str, said: str) -> None:
    assert code in faulty.why(name)
    assert said in faulty.why(name)


def test_a_refused_launch_names_the_limit_of_the_code_object(faulty: Ran) -> None:
    why = faulty.why("const_set_i64")
    assert "hipModuleLaunchKernel returned hipErrorLaunchOutOfResources (701)" in why
    assert why.endswith(
        "its code object allows blocks of at most 256 threads (max_flat_workgroup_size), Candle launches 1024"
    )


def test_no_core_file_is_written(faulty: Ran, folder: Path) -> None:
    if not resource.getrlimit(resource.RLIMIT_CORE)[0]:
        pytest.skip("core files are not to be had here: their hard limit is 0")
    assert list(folder.glob("gpucore*")) == []
    assert list(folder.glob("core*")) == []


@pytest.mark.slow("runs in which a device faults, by a stand-in of AMD's library")
@pytest.mark.parametrize("fault", ["abort", "700", "1"])
def test_a_fault_that_does_not_come_again_alone_is_not_a_verdict(
    over_stand_in: Path, tmp_path: Path, fault: str
) -> None:
    # As when another process's fault resets the GPU that both use.
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels/fill.hsaco").write_bytes(code_object([kernel_row(load_specs().kernels[GOOD])]))
    faults = {"STAND_IN_HIP_FAULTS": f"{GOOD}={fault}", "STAND_IN_HIP_ONCE": str(tmp_path / "once")}
    ran = run(tmp_path, "-j", "2", GOOD, **faults)
    assert (tmp_path / "once").exists()
    assert ran.kernels[GOOD]["status"] == "pass"
