"""Where AMD's libraries are not to be had: one sentence that says why, soon, and not asked again and again."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tests.rocm_libraries import box, libraries
from tests.rocm_libraries.libraries import SWITCH, Unavailable, libraries_of
from tests.rocm_libraries.releases import RELEASES

RELEASE = RELEASES[0]
NAMES = (*RELEASE.packages, *RELEASE.alone)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CANDLE_PARITY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(SWITCH, raising=False)
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr("shutil.which", lambda name, path=None: f"/usr/bin/{name}")
    return tmp_path / "cache/rocm-libraries" / RELEASE.name


def why() -> str:
    with pytest.raises(Unavailable) as refused:
        libraries_of(RELEASE)
    (sentence,) = str(refused.value).splitlines()
    return sentence


def offer(monkeypatch: pytest.MonkeyPatch, *versions: str) -> list[tuple[str, ...]]:
    """An apt whose suite has ``versions`` of every package; what it is called with."""
    calls: list[tuple[str, ...]] = []

    def run(*words: str, why: str) -> str:
        calls.append(words)
        if "madison" in words:
            return "".join(f" {name} | {version} | mirror sid/main\n" for name in NAMES for version in versions)
        return "http://mirror.example/debian-security\nhttp://mirror.example/debian\n"

    monkeypatch.setattr(libraries, "run", run)
    return calls


def test_they_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "off")
    assert why() == f"{SWITCH} is off"


def test_a_machine_without_apt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name, path=None: None)
    assert why().startswith("apt-get is not installed; a Debian system")


def test_another_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert why().startswith("they are for x86_64, and this is aarch64; ")


def test_a_mirror_that_does_not_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own_cache: Path) -> None:
    if not Path("/usr/bin/apt-get").exists():
        pytest.skip("no apt-get")
    monkeypatch.undo()
    monkeypatch.delenv(SWITCH, raising=False)
    monkeypatch.setenv("CANDLE_PARITY_CACHE", str(own_cache.parents[1]))
    monkeypatch.setattr(libraries, "mirror", lambda: f"file:{tmp_path}/nowhere")
    said = why()
    assert said.startswith("the suites sid cannot be read from the machine's mirror (apt-get: E: ")
    assert sorted(path.name for path in own_cache.iterdir()) == ["failure.txt", "lock"]

    def again() -> str:
        raise AssertionError("asked again")

    monkeypatch.setattr(libraries, "mirror", again)
    assert why() == said


def test_a_version_that_is_gone_is_replaced_by_one_of_its_major_release(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    offer(monkeypatch, "7.0.1-1", "6.4.9-2", "6.4.8-1")
    apt = libraries._Apt(tmp_path, RELEASE)
    assert apt.versions() == dict.fromkeys(NAMES, "6.4.9-2")
    offer(monkeypatch, "6.4.9-2", RELEASE.version)
    assert apt.versions() == dict.fromkeys(NAMES, RELEASE.version)


@pytest.mark.parametrize(
    ("versions", "told"),
    [((), "sid does not have it"), (("7.0.1-1", "7.0.0-1"), "sid has 7.0.1-1, 7.0.0-1")],
    ids=["no package", "another major release"],
)
def test_a_major_release_that_is_gone(versions: tuple[str, ...], told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = offer(monkeypatch, *versions)
    assert why() == f"{NAMES[0]} {RELEASE.version} is gone: {told}"
    assert not any("install" in words for words in calls)


def test_apt_is_called_with_private_folders_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls = offer(monkeypatch, RELEASE.version)
    apt = libraries._Apt(tmp_path, RELEASE)
    apt.download(apt.versions())
    assert (tmp_path / "sources.list").read_text().rstrip().endswith("http://mirror.example/debian sid main")
    for words in [words for words in calls if "indextargets" not in words]:
        for setting in ("Dir::State", "Dir::State::status", "Dir::Cache", "Dir::Etc::sourcelist"):
            assert any(word.startswith(f"{setting}={tmp_path}/") for word in words), words
        assert "install" not in words or "--download-only" in words


def test_processes_wait_for_one_download(monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    offer(monkeypatch, RELEASE.version)
    downloads = []

    def unpack(_apt: object, new: Path) -> dict[str, str]:
        downloads.append(new)
        new.mkdir()
        return dict.fromkeys(NAMES, RELEASE.version)

    monkeypatch.setattr(libraries, "_unpack", unpack)
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(libraries_of(RELEASE).version)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(downloads), found) == (1, [RELEASE.version] * 4)
    assert sorted(path.name for path in own_cache.iterdir()) == ["lock", "unpacked"]


def test_a_tree_of_other_packages_or_without_its_list_is_not_used(
    monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    offer(monkeypatch)
    for text in ('{"libamdhip64-5": "5.7.1-1"}', "{"):
        tree = own_cache / "unpacked"
        tree.mkdir(parents=True, exist_ok=True)
        (tree / "versions.json").write_text(text)
        assert "is gone" in why()
        assert not tree.exists()
        (own_cache / "failure.txt").unlink()


def test_a_cache_folder_that_mount_cannot_name(tmp_path: Path) -> None:
    odd = tmp_path / "a:b"
    found = libraries.Libraries(RELEASE, odd / "base", odd / "hip", {})
    with pytest.raises(Unavailable, match="has a character that options of mount cannot hold"):
        box._script(found, replace(box.OPT_ROCM, headers=False))
