"""Offload bundles: which entry a device takes, and compressed ones."""

from __future__ import annotations

import importlib
import struct
import zlib
from typing import Any

import pytest

from conformance.port.bundles import ZSTD, CompressedBundle, choose
from conformance.port.code_objects import code_for
from conformance.toolchains.targets import AmdError
from tests.port import elf

DEVICE = "gfx942:sramecc+:xnack-"


@pytest.mark.parametrize(
    ("targets", "arch", "taken"),
    [
        (["gfx90a", "gfx942"], DEVICE, 1),
        (["gfx942", "gfx942:xnack-"], DEVICE, 1),
        (["gfx942:xnack-", "gfx942:sramecc+:xnack-", "gfx942"], DEVICE, 1),
        (["gfx942:xnack+", "gfx942"], DEVICE, 1),
        (["gfx942:xnack+"], DEVICE, None),
        (["gfx942:sramecc-"], DEVICE, None),
        (["gfx94"], DEVICE, None),
        (["gfx9-4-generic", "gfx942"], DEVICE, 1),
        (["gfx9-4-generic"], DEVICE, 0),
        (["gfx9-generic"], DEVICE, None),
        (["gfx1100"], "gfx1100", 0),
        (["gfx1100:xnack-"], "gfx1100", 0),
        (["unknown"], DEVICE, 0),
        ([], DEVICE, None),
    ],
)
def test_a_device_takes_the_entry_that_fits_and_says_most(targets: list[str], arch: str, taken: int | None) -> None:
    assert choose(targets, arch) == taken


def bundle() -> bytes:
    code = elf.code_object(elf.metadata("gfx942", [elf.kernel_row("k", [(0, 8, "global_buffer")])]))
    return elf.bundle({"host-x86_64-unknown-linux-gnu-": b"", "hipv4-amdgcn-amd-amdhsa--gfx942": code})


HEADERS = {
    1: lambda method, packed, size: struct.pack("<4sHHIQ", b"CCOB", 1, method, size, 0),
    2: lambda method, packed, size: struct.pack("<4sHHIIQ", b"CCOB", 2, method, 24 + len(packed), size, 0),
    3: lambda method, packed, size: struct.pack("<4sHHQQQ", b"CCOB", 3, method, 32 + len(packed), size, 0),
}


@pytest.mark.parametrize("version", HEADERS)
def test_bundles_compressed_with_zlib_are_read(version: int) -> None:
    packed = zlib.compress(bundle())
    data = HEADERS[version](0, packed, len(bundle())) + packed
    assert code_for(data, DEVICE, "k.hsaco")[0].kernels.keys() == {"k"}


@pytest.mark.parametrize("cut", [10, 30, -5])
def test_a_compressed_bundle_that_is_cut_short_is_damaged(cut: int) -> None:
    packed = zlib.compress(bundle())
    data = HEADERS[2](0, packed, len(bundle())) + packed
    with pytest.raises(AmdError, match=r"k\.hsaco: is a compressed offload bundle that is cut short or damaged"):
        code_for(data[:cut], DEVICE, "k.hsaco")


def test_without_a_package_for_zstd_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("conformance.port.bundles.importlib.import_module", absent)
    data = HEADERS[2](1, b"", len(bundle()))
    with pytest.raises(CompressedBundle, match=r"k\.hsaco: .*\(zstd\).*pip install zstandard.*--no-gpu-bundle-output"):
        code_for(data, DEVICE, "k.hsaco")


def test_bundles_compressed_with_zstd_are_read_where_a_package_is_there() -> None:
    for name in ZSTD:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        packed = module.compress(bundle())
        data = HEADERS[2](1, packed, len(bundle())) + packed
        assert code_for(data, DEVICE, "k.hsaco")[0].kernels.keys() == {"k"}
        return
    pytest.skip(f"none of {', '.join(ZSTD)} is installed")
