"""Signatures on ROCm: from the bytes that are loaded, before a launch for which HIP would read past our arguments."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from conformance.spec.load import load_specs
from tests.port import elf
from tests.port.test_bundles import HEADERS
from tests.rocm_runtime.stand_in import Ran, code_object, kernel_row, run

KERNEL = "fill_u32"
"""``buf: u32*, value: u32, numel: size_t``."""

WRONG = {
    "fill_u32": (
        {0: (0, 8, "by_value")},
        "parameter 1 is a value of 8 bytes at offset 0, Candle's is u32* buf, a",
    ),
    "fill_u8": (
        {1: (8, 8, "global_buffer")},
        "parameter 2 is a pointer of 8 bytes at offset 8, Candle's is u8 value,",
    ),
    "fill_f32": (
        {2: (16, 4, "by_value")},
        "parameter 3 is a value of 4 bytes at offset 16, Candle's is size_t numel,",
    ),
    "fill_f64": (
        {1: (8, 2, "by_value")},
        "parameter 2 is a value of 2 bytes at offset 8, Candle's is f64 value, a",
    ),
}
MORE = elf.kernel_row("fill_i64", [(8 * number, 8, "global_buffer") for number in range(7)])


def judged(folder: Path, code: bytes, *names: str) -> Ran:
    """A run in which every launch of these kernels would end the process."""
    (folder / "kernels").mkdir()
    (folder / "kernels/fill.hsaco").write_bytes(code)
    faults = ",".join(f"{name}=abort" for name in names)
    ran = run(folder, *names, STAND_IN_HIP_FAULTS=faults)
    assert ran.kernels, ran.err
    return ran


@pytest.fixture(scope="module")
def wrong(stand_in_rocm: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    specs = load_specs().kernels
    rows = [kernel_row(specs[name], changed) for name, (changed, _) in WRONG.items()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROCM_PATH", str(stand_in_rocm))
        patch.delenv("LD_LIBRARY_PATH", raising=False)
        return judged(tmp_path_factory.mktemp("wrong"), code_object([*rows, MORE]), *WRONG, "fill_i64", "fill_f16")


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.slow("loads code objects in processes of their own")
def test_another_argument_is_a_signature_that_names_the_parameter(wrong: Ran, name: str) -> None:
    assert wrong.kernels[name]["status"] == "signature"
    assert wrong.kernels[name]["message"].startswith(WRONG[name][1])


@pytest.mark.slow("loads code objects in processes of their own")
def test_another_count_is_a_signature_that_lists_the_parameters(wrong: Ran) -> None:
    assert wrong.kernels["fill_i64"]["status"] == "signature"
    assert (
        wrong.kernels["fill_i64"]["message"] == "has 7 parameters, Candle's has 3 (i64* buf, i64 value, size_t numel)"
    )


@pytest.mark.slow("loads code objects in processes of their own")
def test_a_kernel_that_the_bytes_lack_is_missing(wrong: Ran) -> None:
    assert wrong.kernels["fill_f16"]["status"] == "missing"


@pytest.mark.slow("compiles a code object per signature and runs it by a stand-in")
@pytest.mark.parametrize("target", ["gfx90a", "gfx942:xnack+"])
def test_code_for_another_device_is_named_with_both(over_stand_in: Path, tmp_path: Path, target: str) -> None:
    ran = judged(tmp_path, code_object([kernel_row(load_specs().kernels[KERNEL])], target), KERNEL)
    assert ran.kernels[KERNEL]["status"] == "not_run"
    message = ran.kernels[KERNEL]["message"]
    assert f"fill.hsaco: is for {target}, the device is gfx942:sramecc+:xnack-; build it with" in message


def bundle(**rows: object) -> bytes:
    """A code object with one kernel for each target."""
    return elf.bundle(
        {f"hipv4-amdgcn-amd-amdhsa--{target}": code_object([row], target) for target, row in rows.items()}
    )


@pytest.mark.slow("compiles a code object per signature and runs it by a stand-in")
def test_the_entry_of_the_devices_architecture_is_compared_and_loaded(over_stand_in: Path, tmp_path: Path) -> None:
    good = kernel_row(load_specs().kernels[KERNEL])
    wrong = kernel_row(load_specs().kernels[KERNEL], WRONG[KERNEL][0])
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    assert judged(tmp_path / "one", bundle(gfx1100=good, gfx942=wrong), KERNEL).kernels[KERNEL]["status"] == "signature"
    both = bundle(gfx1100=wrong, gfx942=good)
    packed = zlib.compress(both)
    ran = judged(tmp_path / "two", HEADERS[3](0, packed, len(both)) + packed, KERNEL)
    assert ran.kernels[KERNEL]["status"] == "crash"  # it was launched


@pytest.mark.slow("compiles a code object per signature and runs it by a stand-in")
def test_a_bundle_that_nothing_here_can_read_is_not_the_kernels_doing(over_stand_in: Path, tmp_path: Path) -> None:
    both = bundle(gfx942=kernel_row(load_specs().kernels[KERNEL]))
    ran = judged(tmp_path, HEADERS[2](7, both, len(both)) + both, KERNEL)
    assert ran.kernels[KERNEL]["status"] == "not_run"
    message = ran.kernels[KERNEL]["message"]
    assert "compressed offload bundle of a kind that is not known here" in message
    assert "--no-gpu-bundle-output" in message
