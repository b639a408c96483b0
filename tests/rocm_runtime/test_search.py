"""Where ROCm's libraries are looked for, and which one is taken."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from conformance.runtimes.cpu.build import build
from conformance.runtimes.rocm import search
from conformance.runtimes.rocm.search import chosen, installations, newest


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without any ROCm; returns its /opt."""
    for name in ("ROCM_PATH", "ROCM_HOME", "LD_LIBRARY_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("conformance.toolchains.search.OPT", tmp_path / "opt")
    monkeypatch.setattr(search, "LINKER_CACHE", tmp_path / "ld.so.cache")
    monkeypatch.setattr(search, "DISTRIBUTION", (tmp_path / "usr/lib",))
    return tmp_path / "opt"


def rocm(folder: Path, names: tuple[str, ...] = ("libamdhip64.so", "libhiprtc.so"), headers: bool = False) -> Path:
    """Something laid out as an installation of ROCm; its lib folder."""
    lib = folder / "lib"
    lib.mkdir(parents=True)
    for name in names:
        (lib / name).write_bytes(b"AMD's")
    if headers:
        (folder / "include/hip").mkdir(parents=True)
        (folder / "include/hip/hip_runtime.h").touch()
    return lib


def test_a_machine_without_rocm_has_none() -> None:
    assert installations() == []
    assert chosen() is None


def test_rocm_is_found_in_opt_without_an_entry_of_the_linker(bare: Path) -> None:
    lib = rocm(bare / "rocm", headers=True)
    (one,) = installations()
    assert (one.hip, one.rtc, one.include) == (lib / "libamdhip64.so", lib / "libhiprtc.so", bare / "rocm/include")
    assert str(one) == f"{lib}/libamdhip64.so ({bare}/rocm)"


def test_a_library_may_have_only_its_versioned_name(bare: Path) -> None:
    """As distributions ship it without the development package."""
    lib = rocm(bare / "rocm", ("libamdhip64.so.6", "libamdhip64.so.7", "libamdhip64.so.7.2.53211", "libhiprtc.so.7"))
    (one,) = installations()
    assert one.hip == lib / "libamdhip64.so.7.2.53211"
    assert one.rtc == lib / "libhiprtc.so.7"


def test_the_order_is_wheels_then_variables_then_opt_then_the_linkers_paths(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = tmp_path / "site-packages/_rocm_sdk_core"
    rocm(wheel)
    (wheel / "__init__.py").touch()
    monkeypatch.setattr(sys, "path", [str(wheel.parent), *sys.path])
    for name in ("ROCM_PATH", "ROCM_HOME", "LD_LIBRARY_PATH"):
        lib = rocm(tmp_path / name)
        monkeypatch.setenv(name, str(lib if name == "LD_LIBRARY_PATH" else lib.parent))
    rocm(bare / "rocm")
    rocm(bare / "rocm-6.4.3")
    rocm(bare / "rocm-7.2.4")
    cached = rocm(tmp_path / "cached")
    (tmp_path / "ld.so.cache").write_bytes(
        b"glibc-ld.so.cache1.1\0libamdhip64.so.7\0%s/libamdhip64.so\0" % bytes(cached)
    )
    rocm(tmp_path / "usr")
    assert [one.origin for one in installations()] == [
        "the rocm-sdk wheels",
        "ROCM_PATH",
        "ROCM_HOME",
        f"{bare}/rocm",
        f"{bare}/rocm-7.2.4",
        f"{bare}/rocm-6.4.3",
        "LD_LIBRARY_PATH",
        "the dynamic linker's cache",
        "the distribution's library folder",
    ]


def test_a_link_to_a_release_is_that_release_once(bare: Path) -> None:
    rocm(bare / "rocm-7.2.4")
    (bare / "rocm").symlink_to("rocm-7.2.4")
    assert [one.origin for one in installations()] == [f"{bare}/rocm"]


def test_one_that_cannot_compile_is_taken_only_where_there_is_no_other(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rocm(bare / "rocm", ("libamdhip64.so.7",))
    assert chosen() == installations()[0]
    whole = rocm(tmp_path / "whole")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(whole))
    assert chosen() == installations()[0]
    assert installations()[0].hip == whole / "libamdhip64.so"
    assert str(installations()[1]).endswith(f"({bare}/rocm, without libhiprtc)")


def test_our_own_library_is_not_one_of_rocms(monkeypatch: pytest.MonkeyPatch) -> None:
    assert newest(build(), search.HIP) is not None
    monkeypatch.setenv("LD_LIBRARY_PATH", str(build()))
    assert installations() == []


def test_the_identity_changes_with_a_file_that_compiles(bare: Path) -> None:
    """hiprtcVersion is 9.0 in ROCm 6.4 and 7.2: a version would leave objects of the old one in the cache."""
    lib = rocm(bare / "rocm", ("libamdhip64.so", "libhiprtc.so", "libamd_comgr.so.3"))
    before = installations()[0].identity()
    assert before == installations()[0].identity()
    (lib / "libamd_comgr.so.3").write_bytes(b"another release's")
    assert installations()[0].identity() != before
