"""Code objects for AMD targets are kept in the same kind of folder as all others: it may be unusable or damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.cache import SUFFIX
from conformance.notices import take_warnings
from conformance.port.amd_cache import compile_cached
from conformance.toolchains.amd import AmdToolchain
from conformance.toolchains.targets import target

GFX942 = target("gfx942")

# Its output is the source and a header, which its dependency file names.
COMPILER = """#!/bin/sh
for last; do :; done
while [ $# -gt 0 ]; do
  [ "$1" = -dependency-file ] && printf "k: %s %s\\n" "$last" "HEADER" > "$3"
  [ "$1" = -o ] && out="$2"
  shift
done
cat "$last" HEADER > "$out"
"""


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[AmdToolchain, Path, Path]:
    """A compiler, a source and a header that it includes, in an empty cache."""
    source, header, compiler = tmp_path / "k.hip", tmp_path / "k.h", tmp_path / "clang++"
    source.write_text("source;")
    header.write_text("one")
    compiler.write_text(COMPILER.replace("HEADER", str(header)))
    compiler.chmod(0o755)
    monkeypatch.setenv("CANDLE_PARITY_CACHE", str(tmp_path / "cache"))
    take_warnings()
    return AmdToolchain("rocm", (str(compiler),), (), "made up", "1"), source, header


def test_an_object_is_kept_until_a_header_changes_or_is_gone(made: tuple[AmdToolchain, Path, Path]) -> None:
    toolchain, source, header = made
    found = [compile_cached(toolchain, source, GFX942) for _ in range(2)]
    assert [(one.code, one.fresh) for one in found] == [(b"source;one", True), (b"source;one", False)]
    header.write_text("two")
    assert compile_cached(toolchain, source, GFX942).code == b"source;two"
    header.rename(header.with_suffix(".old"))
    header.symlink_to(header.with_suffix(".old"))
    assert not compile_cached(toolchain, source, GFX942).fresh
    header.unlink()
    header.write_text("three")
    assert compile_cached(toolchain, source, GFX942).code == b"source;three"
    assert take_warnings() == []


def test_an_object_of_another_key_is_damage(made: tuple[AmdToolchain, Path, Path], tmp_path: Path) -> None:
    toolchain, source, _ = made
    compile_cached(toolchain, source, GFX942)
    ours = set((tmp_path / "cache/amd").glob(f"*{SUFFIX}"))
    compile_cached(toolchain, source, GFX942, ["-DOTHER"])
    others = set((tmp_path / "cache/amd").glob(f"*{SUFFIX}")) - ours
    for other in others:
        other.write_bytes(next(iter(ours)).read_bytes())
    assert compile_cached(toolchain, source, GFX942, ["-DOTHER"]).fresh
    (said,) = take_warnings()
    assert any(f"{other} is damaged" in said for other in others)


def test_a_cache_that_cannot_be_written_costs_a_warning(made: tuple[AmdToolchain, Path, Path], tmp_path: Path) -> None:
    toolchain, source, _ = made
    (tmp_path / "cache").touch()
    assert [compile_cached(toolchain, source, GFX942).code for _ in range(2)] == [b"source;one"] * 2
    assert any("cannot be written (Not a directory)" in said for said in take_warnings())
