"""What a library of launchers uses and does not have: whose doing that is."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.port import launchers
from conformance.port.launchers import Unlinked, explained, may_define, plain_name
from conformance.port.options import NO_OPTIONS
from conformance.port.sources import KernelSource, SourceError, find_sources
from conformance.reading import read_bytes

HOST = "undefined symbol: _Z6helperPvP12ihipStream_t"
DEVICE = "lld: error: undefined hidden symbol: twice(float)"


@pytest.fixture
def sources(tmp_path: Path) -> list[KernelSource]:
    """A source that calls what another one has, and one that names it too."""
    (tmp_path / "own.h").write_text("void helper(void *, void *);\n__device__ float twice(float);\nvoid gone();\n")
    (tmp_path / "calls.hip").write_text('#include "own.h"\nextern "C" void go() { helper(0, 0); gone(); }\n')
    (tmp_path / "has.hip").write_text(
        '#include "own.h"\n__device__ float twice(float x) { return 2 * x; }\n'
        "namespace own { int count() { return 1; } }\nvoid helper(void *, void *) { gone(); }\n"
    )
    return find_sources(tmp_path)


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_Z6helperPvP12ihipStream_t", "helper"),
        ("_ZN3own5inner6helperEPv", "helper"),
        ("_ZNK3own4Type3getEv", "get"),
        ("_Z3addIfEvT_", "add"),
        ("own::helper", "helper"),
        ("helper", "helper"),
    ],
)
def test_the_name_of_a_symbol_is_the_one_in_the_source(symbol: str, name: str) -> None:
    assert plain_name(symbol) == name


def told(sources: list[KernelSource], why: str) -> Unlinked:
    return explained(why, sources[0], sources, NO_OPTIONS)


def test_a_host_function_of_another_source_is_no_mistake_of_the_port(sources: list[KernelSource]) -> None:
    label = sources[1].label
    for symbol, name in (("_Z6helperPvP12ihipStream_t", "helper"), ("_ZN3own5countEv", "count")):
        found = told(sources, f"undefined symbol: {symbol}")
        assert not found.of_the_port
        assert found.why == (
            f"it calls {name}, which is in {label}, and each source is linked by itself here: include what defines it"
        )


@pytest.mark.parametrize("name", ["hipblasCreate", "hipblasLtCreate", "rocblas_sgemm", "rocrand_generate", "ncclSend"])
def test_nor_is_a_function_of_a_library_that_a_port_may_be_linked_with(sources: list[KernelSource], name: str) -> None:
    found = told(sources, f"undefined symbol: {name}")
    assert (found.of_the_port, found.why.startswith(f"it calls {name}, and launchers are linked here")) == (False, True)


@pytest.mark.parametrize(
    ("why", "said"),
    [
        ("undefined symbol: _Z4gonev", "undefined symbol: _Z4gonev (gone is defined in no source)"),
        ("undefined symbol: hipbone", "undefined symbol: hipbone (hipbone is defined in no source)"),
        (DEVICE, f"{DEVICE} (twice is in LABEL: without -fgpu-rdc a kernel calls what its source includes)"),
        ("lld: error: undefined symbol: nowhere(float)", "lld: error: undefined symbol: nowhere(float)"),
        ("calls.hip:2: error: expected ';'", "calls.hip:2: error: expected ';'"),
    ],
)
def test_what_nobody_defines_and_what_a_kernel_cannot_reach_is(
    sources: list[KernelSource], why: str, said: str
) -> None:
    assert told(sources, why) == Unlinked(said.replace("LABEL", sources[1].label))


@pytest.mark.parametrize("name", ["libport.so", "deep/libport.a"])
def test_a_library_that_is_built_already_is_named_with_what_to_give(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.touch()
    for path in (tmp_path, file):
        with pytest.raises(SourceError, match=rf"; {file.name} is built already: give its sources, or its code"):
            find_sources(path)


def test_what_a_source_may_define_is_found_in_one_reading_of_each_file(
    sources: list[KernelSource], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, has = sources
    files: list[str] = []

    def reading(path: Path, most: int) -> bytes:
        files.append(path.name)
        return read_bytes(path, most)

    monkeypatch.setattr(launchers, "read_bytes", reading)
    assert not may_define(calls, [f"launch_{number}" for number in range(9)], NO_OPTIONS)
    assert sorted(files) == ["calls.hip", "own.h"]
    assert may_define(calls, ["launch_one", "twice"], NO_OPTIONS), "its header has the word"
    (calls.path.parent / "own.h").unlink()
    assert not may_define(calls, ["twice"], NO_OPTIONS)
    assert may_define(has, ["twice"], NO_OPTIONS)
    assert not may_define(has, [], NO_OPTIONS)
