"""Code objects that are read, and binaries that are refused with a sentence; no compiler is needed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import elf
import pytest

from conformance.port.code_objects import Argument, parse, read_code_objects
from conformance.port.signature import arguments, difference, expected_arguments
from conformance.spec.load import Specs, load_specs
from conformance.toolchains.targets import AmdError, targets_of

AFFINE_F16 = [
    (0, 8, "by_value"),
    (8, 8, "by_value"),
    (16, 8, "global_buffer"),
    (24, 8, "global_buffer"),
    (32, 8, "global_buffer"),
    (40, 2, "by_value"),
    (42, 2, "by_value"),
]


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def affine(*changed: tuple[int, int, str], **changes: Any) -> dict[str, Any]:
    hidden = (48, 4, "hidden_block_count_x")
    return elf.kernel_row("affine_f16", [*(changed or AFFINE_F16), hidden], **changes)


def test_a_kernel_is_read_whole_and_hidden_arguments_are_left_out(tmp_path: Path) -> None:
    row = affine(vgpr_count=12, sgpr_spill_count=3, group_segment_fixed_size=2048, private_segment_fixed_size=16)
    file = tmp_path / "affine.hsaco"
    file.write_bytes(elf.code_object(elf.metadata("gfx90a:xnack-", [row])))
    (code,) = read_code_objects(file)
    assert code.target == "gfx90a:xnack-"
    kernel = code.kernels["affine_f16"]
    assert kernel.arguments == tuple(Argument(*argument) for argument in AFFINE_F16)
    assert (kernel.vgprs, kernel.sgprs, kernel.vgpr_spills, kernel.sgpr_spills) == (12, 16, 0, 3)
    assert (kernel.lds, kernel.scratch, kernel.wave, kernel.max_workgroup, kernel.kernarg) == (2048, 16, 64, 1024, 296)


def test_a_bundle_gives_an_object_per_amd_target(tmp_path: Path) -> None:
    objects = {
        f"hipv4-amdgcn-amd-amdhsa--{target}": elf.code_object(elf.metadata(target, [affine()]))
        for target in ("gfx942", "gfx1100")
    }
    file = tmp_path / "both.hsaco"
    file.write_bytes(elf.bundle({"host-x86_64-unknown-linux--": b"", **objects}))
    assert [code.target for code in read_code_objects(file)] == ["gfx942", "gfx1100"]
    file.write_bytes(elf.bundle({"host-x86_64-unknown-linux--": b""}))
    with pytest.raises(AmdError, match="no code object for an AMD GPU"):
        read_code_objects(file)


GOOD = elf.code_object(elf.metadata("gfx942", [affine()]))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"int main() {}\n", "is not a code object"),
        (b"", "is not a code object"),
        (elf.code_object(None, machine=190), r"an NVIDIA GPU \(a CUDA cubin\)"),
        (elf.code_object(None, machine=62), r"an x86-64 processor \(a host library\)"),
        (elf.code_object(None, machine=4711), "another machine .ELF machine 4711."),
        (elf.code_object(None), "no AMDGPU metadata"),
        (elf.code_object({"a": 1}, owner=b"GNU\0"), "no AMDGPU metadata"),
        (elf.code_object({"amdhsa.kernels": [{".name": "k"}]}), "damaged"),
        (elf.code_object({"amdhsa.kernels": 7}), "damaged"),
        (GOOD[:30], "damaged"),
        (GOOD[:200], "damaged"),
        (b"CCOB" + bytes(40), "compressed offload bundle"),
        (elf.bundle({"hipv4-amdgcn-amd-amdhsa--gfx942": GOOD})[:200], "cut short or damaged"),
    ],
)
def test_other_files_are_refused_in_one_sentence(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "thing.hsaco"
    file.write_bytes(content)
    with pytest.raises(AmdError, match=said) as caught:
        read_code_objects(file)
    assert str(caught.value).startswith(str(file))
    assert "\n" not in str(caught.value)


def test_arguments_are_packed_by_natural_alignment(specs: Specs) -> None:
    assert expected_arguments(specs.kernels["affine_f16"]) == tuple(Argument(*row) for row in AFFINE_F16)
    wide = [argument.offset for argument in expected_arguments(specs.kernels["affine_f64"])]
    assert wide == [0, 8, 16, 24, 32, 40, 48]


@pytest.mark.parametrize(
    ("position", "argument", "said"),
    [
        (
            0,
            (0, 4, "by_value"),
            "parameter 1 is a value of 4 bytes at offset 0, Candle's is size_t numel, a value of",
        ),
        (4, (32, 8, "by_value"), r"parameter 5 is a value of 8 bytes at offset 32, Candle's is f16\* out, a pointer"),
        (6, (44, 2, "by_value"), "parameter 7 is a value of 2 bytes at offset 44, .* at offset 42"),
    ],
)
def test_a_difference_in_layout_names_the_argument(
    specs: Specs, position: int, argument: tuple[int, int, str], said: str
) -> None:
    rows = [*AFFINE_F16]
    rows[position] = argument
    code = parse(elf.code_object(elf.metadata("gfx942", [affine(*rows)])), "made here")
    found = difference(specs.kernels["affine_f16"], arguments(code.kernels["affine_f16"]))
    assert found is not None

    assert re.search(said, found)


def test_a_missing_argument_is_counted(specs: Specs) -> None:
    code = parse(elf.code_object(elf.metadata("gfx942", [affine(*AFFINE_F16[:-1])])), "made here")
    found = difference(specs.kernels["affine_f16"], arguments(code.kernels["affine_f16"]))
    assert found is not None
    assert found.startswith("has 6 parameters, Candle's has 7 (size_t numel, ")


def test_targets_know_their_isa_version_wave_and_shared_memory() -> None:
    found = targets_of("gfx90a, gfx942,gfx1030,gfx1100,gfx1201,gfx942,gfx950")
    assert {target.name: target.isa_version for target in found} == {
        "gfx90a": 9010,
        "gfx942": 9402,
        "gfx1030": 10300,
        "gfx1100": 11000,
        "gfx1201": 12001,
        "gfx950": 9500,
    }
    assert [target.default_wave for target in found] == [64, 64, 32, 32, 32, 64]
    assert [target.lds_bytes for target in found] == [65536] * 5 + [163840]


@pytest.mark.parametrize("text", ["", " , ", "sm_90", "gfx", "gfx90a:foo+", "gfx942;gfx90a"])
def test_what_is_no_target_is_refused(text: str) -> None:
    with pytest.raises(AmdError, match="expected"):
        targets_of(text)
