"""YAML that is there to hurt: one line with file and line, no crash of the parser, no endless expansion."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.spec import SpecError
from conformance.spec.load import load_specs

HEAD = "module: toy\ntitle: A toy\nsource: toy.cu\nsource_lines: 9\n"
LAUGHS = "".join(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 12))

# The text of a spec, the line of the complaint (None: the whole file), and what it must say.
HOSTILE: dict[str, tuple[str, int | None, str]] = {
    "nested 500 deep": (HEAD + "families: " + "[" * 500 + "]" * 500, 5, "32 levels"),
    "nested 100,000 deep": (HEAD + "families: " + "[" * 100_000, 5, "nest"),  # PyYAML 6.0.4 refuses it first
    "mappings 100,000 deep": (HEAD + "families: " + "{a: " * 100_000, 5, "32 levels"),
    "blocks 500 deep": (HEAD + "families:\n" + "".join(f"{' ' * depth}a:\n" for depth in range(500)), 38, "32 levels"),
    "a bomb of aliases": ("a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + LAUGHS, 2, "aliases"),
    "an alias of itself": (HEAD + "families: &all\n  - *all\n", 5, "32 levels"),
    "an integer of 5,000 digits": (HEAD.replace("9", "9" * 5000) + "families: []\n", 4, "at most 15 digits"),
    "a key of 5,000 characters": (HEAD + "k" * 1000 + ": 1\n", 5, "at most 200"),
    "a text of 100,000 characters": (HEAD.replace("A toy", "x" * 100_000) + "families: []\n", 2, "at most 4000"),
    "a megabyte": (HEAD + "#" * (1 << 20), None, "larger than 1 MiB"),
    "a NUL": (HEAD + "families: \0\n", None, "not valid YAML"),
    "an object of Python": (HEAD + "families: !!python/object/apply:os.system [true]\n", 5, "families.0 is True"),
}


def failure(folder: Path, content: bytes) -> SpecError:
    (folder / "toy.yaml").write_bytes(content)
    with pytest.raises(SpecError) as caught:
        load_specs(folder)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(folder / "toy.yaml"))
    assert len(message) < 1000
    return caught.value


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_yaml_is_a_line_with_its_place(name: str, tmp_path: Path) -> None:
    text, line, word = HOSTILE[name]
    error = failure(tmp_path, text.encode())
    assert error.line == line or name == "a bomb of aliases"
    assert word in str(error)


def test_bytes_that_are_not_utf_8_have_a_line(tmp_path: Path) -> None:
    error = failure(tmp_path, HEAD.encode() + b"# caf\xe9\n")
    assert error.line == 5
    assert "not UTF-8" in str(error)


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    error = failure(tmp_path, b"\xef\xbb\xbf" + HEAD.encode())
    assert "'families' is missing" in str(error)


def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "toy.yaml")
    with pytest.raises(SpecError, match="a FIFO, not a regular file"):
        load_specs(tmp_path)


def test_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "toy.yaml").mkdir()
    with pytest.raises(SpecError, match=r"toy\.yaml: cannot be read"):
        load_specs(tmp_path)


@pytest.mark.parametrize("kind", ["empty", "file", "without yaml", "absent"])
def test_a_folder_without_specs(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "specs"
    if kind == "file":
        folder.write_text(HEAD)
    elif kind != "absent":
        folder.mkdir()
    if kind == "without yaml":
        (folder / "notes.txt").write_text("none")
    with pytest.raises(SpecError, match="no spec found; give a folder"):
        load_specs(folder)
