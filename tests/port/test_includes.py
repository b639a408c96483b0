"""One walker of ``#include``: what it follows for the key of an object, and as a compiler would."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.port.definitions.scan import scan_file
from conformance.port.definitions.source_text import includes, reached


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """``a.h`` next to the source and in two folders, each naming a header of its own."""
    for folder in ("", "one", "two"):
        place = tmp_path / folder
        place.mkdir(exist_ok=True)
        (place / "a.h").write_text(f'#include "of_{folder or "here"}.h"\n')
    return tmp_path


def missing(tree: Path, text: str, *, first: bool) -> list[str | None]:
    (tree / "k.hip").write_text(text)
    found = includes([tree / "k.hip"], [tree / "one", tree / "two"], Path.read_text, first=first)
    return sorted(include.name or "?" for include in found if not include.found)


def test_all_files_of_a_name_are_followed(tree: Path) -> None:
    for text in ('#include "a.h"\n', "#include <a.h>\n", "# import <a.h>\n", "#include_next <a.h>\n"):
        assert missing(tree, text, first=False) == ["of_here.h", "of_one.h", "of_two.h"]
    assert missing(tree, "#include A_H\n", first=False) == ["?"]


def test_the_first_file_is_the_compilers(tree: Path) -> None:
    assert missing(tree, '#include "a.h"\n', first=True) == ["of_here.h"]
    assert missing(tree, "#include <a.h>\n", first=True) == ["of_one.h"]


def test_a_link_to_a_header_includes_what_lies_next_to_the_link(tree: Path) -> None:
    """As clang and g++ look for it."""
    (tree / "one/a.h").unlink()
    (tree / "one/a.h").symlink_to(tree / "two/a.h")
    (tree / "one/of_two.h").write_text("#define TWO\n")
    (tree / "k.hip").write_text('#include "one/a.h"\nextern "C" __global__ void k(int *p) { *p = 1; }\n')
    assert tree / "one/of_two.h" in reached([tree / "k.hip"], []).files
    assert [row.name for row in scan_file(tree / "k.hip").kernels] == ["k"]
