"""``toolchain``: what there is for AMD's machine code, and a release of HIP brought from packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import answer, refused
from tests.toolchains.packages import deb, headers


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANDLE_PARITY_CACHE", str(tmp_path / "cache"))


@pytest.mark.slow("runs the command for each row")
def test_a_release_is_brought_listed_and_removed(tmp_path: Path, capfd) -> None:
    package = tmp_path / "hip-dev.deb"
    package.write_bytes(deb(headers("6.9")))
    said = answer(capfd, "toolchain", "--from", package)
    assert said.code == 0, said.err
    include = tmp_path / "cache/hip/hip-6.9/include"
    assert said.out.startswith(f"hip-6.9: headers without device libraries are in {include.parent}\n")
    assert f"HIP 6.9 in {include}" in " ".join(said.out.split())
    assert "hip-7.2 (1.7 MB: libamdhip64-dev 7.2.4" in said.out
    said = answer(capfd, "toolchain", "--remove", "hip-6.9")
    assert said.out.startswith("removed hip-6.9\n")
    assert "HIP 6.9" not in said.out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--get", "hip-1.0"), "expected one of hip-7.2, hip-6.4, hip-5.7"),
        (("--get", "rocm"), "expected a name such as hip-7.2"),
        (("--get", "hip-7.2", "--archive", "file:///etc"), "begins with https://"),
        (("--archive", "https://debian.example"), "give --get"),
        (("--from", "nowhere.deb"), "there is no such file or folder"),
        (("--from", "text.deb"), "is no Debian package"),
        (("--remove", "hip-7.2"), "which has none"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_what_cannot_be_had_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd, words: tuple[str, ...], why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.deb").write_text("not a package\n")
    refused(answer(capfd, "toolchain", *words), why)
