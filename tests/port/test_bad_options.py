"""``candle-parity.toml`` that is no such file: ``SourceError`` with its path, whatever is in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.port.config import OPTIONS_FILE
from conformance.port.sources import SourceError
from tests.port.options import options_for


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"defines = " + b"[" * 10_000, "nested too deep"),
        (b"a" + b".a" * 900 + b" = 1", "unknown key 'a'"),  # Python 3.14 reads keys of 1,000 parts at most
        (b"dialect = " + b"9" * 5000, "cannot be read as TOML"),
        (b"dialect = 0x" + b"f" * 10_000, "dialect must be one of"),
        (b"dialect = []", "dialect must be one of"),
        (b"defines = 3", "a list of strings, not a value of type int"),
        (b"defines = ['A', 3]", "a list of strings, not a value of type list"),
        (b'defines = ["A=\\u0000"]', "is not a macro"),
        (b'include_dirs = ["a\\u0000b"]', "is not a folder"),
        (b"include_dirs = ['" + b"d" * 5000 + b"']", "is not a folder"),
        (b"forced_includes = ['" + b"d" * 5000 + b"']", "is not a file"),
        (b"defines = ['caf\xe9']", "cannot be read as TOML"),
        (b"\xff\xfed\0e\0", "cannot be read as TOML"),
        (b"#" * (17 << 10), "is larger than 16 KiB and has a line of more than 4 KiB; break that line"),
        (b"#\n" * (33 << 10), "larger than 64 KiB"),
        (b"x" * 10_000 + b" = 1", "unknown key"),
    ],
)
def test_options_that_cannot_be_read(content: bytes, word: str, tmp_path: Path) -> None:
    (tmp_path / OPTIONS_FILE).write_bytes(content)
    with pytest.raises(SourceError) as caught:
        options_for(tmp_path)
    message = str(caught.value)
    assert word in message
    assert OPTIONS_FILE in message
    assert len(message) < 1000


def test_a_long_declaration_of_short_lines_is_read(tmp_path: Path) -> None:
    """Such as that of a port whose structs by value take a line for each group of kernels."""
    (tmp_path / OPTIONS_FILE).write_text(
        "".join(["defines = [\n", *(f"  'A{number}=1',\n" for number in range(3000)), "]\n"])
    )
    assert len(options_for(tmp_path).defines) == 3000


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    (tmp_path / OPTIONS_FILE).write_bytes(b"\xef\xbb\xbfdefines = ['A']\n")
    assert options_for(tmp_path).defines == ("A",)


@pytest.mark.parametrize("kind", ["folder", "FIFO"])
def test_something_else_in_its_place(kind: str, tmp_path: Path) -> None:
    path = tmp_path / OPTIONS_FILE
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    with pytest.raises(SourceError, match=f"{OPTIONS_FILE}: cannot be read"):
        options_for(tmp_path)
