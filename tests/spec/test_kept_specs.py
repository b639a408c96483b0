"""What is kept of parsed specs is what the files say, and a cache that is of no use costs time alone."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.files import CACHE
from conformance.notices import take_warnings
from conformance.spec import SpecError, load
from conformance.spec.load import SPEC_FOLDER, load_specs


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    return tmp_path / "cache" / "specs"


def no_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have whatever would parse a spec fail."""

    def refuse(paths: object) -> object:
        raise AssertionError("the specs are kept: nothing is to be parsed")

    monkeypatch.setattr(load, "_parsed", refuse)


@pytest.mark.usefixtures("cache")
def test_kept_specs_are_the_parsed_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = load_specs()
    no_parser(monkeypatch)
    kept = load_specs()
    assert kept == parsed
    assert repr(kept) == repr(parsed)  # tuples stay tuples, and the order of axes is the specs'


def test_a_changed_spec_is_parsed_again(cache: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(SPEC_FOLDER, tmp_path / "given"))
    assert load_specs(folder) == load_specs()
    spec = folder / "fill.yaml"
    spec.write_text(spec.read_text(encoding="utf-8").replace("title: ", "title: Another: ", 1), encoding="utf-8")
    with pytest.raises(SpecError):
        load_specs(folder)
    assert len(list(cache.iterdir())) == 1  # what cannot be parsed is not kept


@pytest.mark.parametrize("content", [b"", b"not an object"])
@pytest.mark.slow("parses every spec again")
def test_damaged_kept_specs_are_parsed_again(cache: Path, content: bytes) -> None:
    parsed = load_specs()
    (kept,) = cache.iterdir()
    kept.write_bytes(content)
    assert load_specs() == parsed
    assert "is damaged" in take_warnings()[-1]
    assert kept.stat().st_size > len(content)


@pytest.mark.slow("loads specs again")
def test_specs_are_read_where_nothing_can_be_kept(cache: Path) -> None:
    cache.parent.write_text("a file where the cache folder would be", encoding="utf-8")
    assert load_specs() == load_specs()
    assert "parsed" in take_warnings()[-1]


def test_nothing_of_the_parser_is_imported_with_kept_specs(cache: Path) -> None:
    load_specs()
    assert cache.is_dir()
    program = "import sys; from conformance.spec.load import load_specs; load_specs(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert {"conformance.spec.model", "pydantic", "yaml"}.isdisjoint(done.stdout.split())
