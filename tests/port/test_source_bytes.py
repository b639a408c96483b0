"""The bytes of a source: what is accepted, what is named, and that scanner, cache and compiler agree on it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.port.definitions.scan import scan_file
from conformance.port.definitions.source_text import ScanError, reached
from conformance.port.digest import tree_digest
from conformance.port.options import BuildOptions
from conformance.port.sources import KernelSource, SourceError, find_sources

KERNEL = b'extern "C" __global__ void uneg_f32(size_t numel, float *out) { out[0] = 1; }\n'


def source(folder: Path, content: bytes, name: str = "unary.hip") -> KernelSource:
    path = folder / name
    path.write_bytes(content)
    return KernelSource(path.resolve(), folder.resolve())


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (KERNEL, 1),
        (b"\xef\xbb\xbf" + KERNEL, 1),
        (b"// caf\xe9 \x85 \x93quoted\x94\n" + KERNEL, 2),
        (b"/* caf\xe9\n caf\xc3\xa9 */\n" + KERNEL, 3),
        (b"// one\r\n// two\r\n" + KERNEL.replace(b"\n", b"\r\n"), 3),
    ],
    ids=["plain", "byte order mark", "Latin-1", "Latin-1 and UTF-8", "CRLF"],
)
def test_what_the_compiler_gets_has_the_lines_that_the_scanner_names(content: bytes, line: int, tmp_path: Path) -> None:
    file = source(tmp_path, content)
    (definition,) = scan_file(file.path).kernels
    assert (definition.name, definition.line) == ("uneg_f32", line)
    text = file.text()
    assert text.split("\n")[line - 1] == KERNEL.decode().rstrip("\n")
    assert text.encode().startswith((b"//", b"/*", b"extern"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"// one\n// a \0 in a comment\n" + KERNEL, [":2:", "a NUL byte at byte 13 (line 2)"]),
        (KERNEL + b"\0", [":2:", "a NUL byte"]),
        (KERNEL.decode().encode("utf-16"), ["is UTF-16 text", "save it as UTF-8"]),
    ],
    ids=["NUL in a comment", "NUL at the end", "UTF-16"],
)
def test_what_a_compiler_would_read_otherwise_is_named_by_all(content: bytes, words: list[str], tmp_path: Path) -> None:
    file = source(tmp_path, content)
    for read in (file.text, lambda: scan_file(file.path).kernels):
        with pytest.raises(SourceError) as caught:
            read()
        for word in ("unary.hip", *words):
            assert word in str(caught.value)
    assert file.mentions("uneg_f32", "unary")


def test_a_source_that_cannot_be_read_is_still_one(tmp_path: Path) -> None:
    (tmp_path / "unary.hip").symlink_to(tmp_path / "nowhere")
    (tmp_path / ".#unary.hip").symlink_to("somebody@host.1234")
    os.mkfifo(tmp_path / "cast.cu")
    (tmp_path / "folder.hip").mkdir()
    files = {file.path.name: file for file in find_sources(tmp_path)}
    assert set(files) == {"unary.hip", "cast.cu"}
    with pytest.raises(SourceError, match=r"unary\.hip: cannot be read \(No such file"):
        files["unary.hip"].text()
    with pytest.raises(SourceError, match=r"cast\.cu: cannot be read \(it is a FIFO, not a regular file\)"):
        files["cast.cu"].text()
    assert files["unary.hip"].mentions("uneg_f32", "unary")
    assert not files["cast.cu"].mentions("uneg_f32", "unary")
    assert tree_digest(tmp_path)


def test_a_code_object_that_is_a_fifo(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "unary.hsaco")
    (file,) = find_sources(tmp_path)
    with pytest.raises(SourceError, match="it is a FIFO"):
        file.code()


@pytest.mark.parametrize(("kind", "word"), [("fifo", "a FIFO"), ("device", "a character device")])
def test_a_kernels_path_that_is_no_file(kind: str, word: str, tmp_path: Path) -> None:
    path = Path("/dev/null")
    if kind == "fifo":
        path = tmp_path / "unary.hip"
        os.mkfifo(path)
    with pytest.raises(SourceError, match=word):
        find_sources(path)


def test_links_in_a_circle_and_many_files_end(tmp_path: Path) -> None:
    source(tmp_path, KERNEL)
    (tmp_path / "again").symlink_to(tmp_path)
    (tmp_path / "loop.cu").symlink_to(tmp_path / "loop.cu")
    inner = tmp_path / "many"
    inner.mkdir()
    for number in range(3000):
        (inner / f"{number}.txt").touch()
    assert [file.path.name for file in find_sources(tmp_path)] == ["loop.cu", "unary.hip"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    source(tmp_path, KERNEL)
    (tmp_path / "closed").mkdir(mode=0)
    with pytest.raises(SourceError, match="closed: Permission denied"):
        find_sources(tmp_path)


@pytest.mark.parametrize("name", ["pipe.h", "/dev/zero"])
def test_an_include_that_would_block_is_named_with_its_line(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.h")
    file = source(tmp_path, f'// one\n#include "{name}"\n'.encode() + KERNEL)
    for read in (lambda: reached([file.path], [tmp_path]), lambda: scan_file(file.path).kernels):
        with pytest.raises(ScanError) as caught:
            read()
        assert str(caught.value).startswith(f"{file.path}:2: includes ")
        assert name in str(caught.value)
    assert tree_digest(tmp_path, BuildOptions(defines=("A",)))


def test_a_header_that_includes_itself_by_another_way_ends(tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "a.h").write_text('#pragma once\n#include "../inc/a.h"\n')
    file = source(tmp_path, b'#include "inc/a.h"\n' + KERNEL)
    assert [row.name for row in scan_file(file.path).kernels] == ["uneg_f32"]
    assert len(reached([file.path], ()).files) == 2


def test_names_of_headers_that_no_file_can_have(tmp_path: Path) -> None:
    text = f'#if 0\n#include <{"x" * 5000}>\n#include "{"y" * 5000}"\n#include <a/b.h>\n#include <a>\n#endif\n'
    file = source(tmp_path, text.encode() + KERNEL)
    assert [row.name for row in scan_file(file.path).kernels] == ["uneg_f32"]
    assert reached([file.path], [tmp_path]).files == (file.path,)
