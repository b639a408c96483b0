"""HIP's headers and device libraries in the cache: brought by digest, or given by hand, without root and dpkg."""

from __future__ import annotations

import hashlib
import http.server
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.toolchains import fetched as module
from conformance.toolchains.debian import PackageError, unpack
from conformance.toolchains.fetched import (
    Package,
    ReleaseError,
    download,
    fetched,
    known_releases,
    library_roots,
    packages_of,
    remove,
    table,
    take,
)
from conformance.toolchains.headers import GET, hip_version
from tests.toolchains.packages import COMPRESSED, deb, headers, libraries

HEADERS = deb(headers("7.2"))
LIBRARIES = deb({**libraries("17.0.6", "usr/lib/llvm-17/lib/clang/17"), **libraries("22.1.6", "usr/lib/llvm-22/lib")})


def row(name: str, content: bytes) -> Package:
    digests = hashlib.sha256(content).hexdigest(), hashlib.sha1(content).hexdigest()
    return Package(name, "1", "sid", ("7.2",), f"pool/{name}_1_amd64.deb", len(content), *digests)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANDLE_PARITY_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> tuple[Package, ...]:
    """A table with a package of headers and one of libraries."""
    made = (row("libamdhip64-dev", HEADERS), row("rocm-device-libs", LIBRARIES))
    monkeypatch.setattr(module, "table", lambda: made)
    return made


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server with both packages, on this machine; nothing else is asked."""
    folder = tmp_path / "archive"
    (folder / "pool").mkdir(parents=True)
    (folder / "pool/libamdhip64-dev_1_amd64.deb").write_bytes(HEADERS)
    (folder / "pool/rocm-device-libs_1_amd64.deb").write_bytes(LIBRARIES)

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: object) -> None:
            super().__init__(*args, directory=str(folder))  # type: ignore[arg-type]

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        monkeypatch.setattr(module, "_SNAPSHOT", f"{address}/snapshot")
        yield address
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("kind", COMPRESSED)
def test_a_package_is_unpacked_whatever_compresses_it(tmp_path: Path, kind: str) -> None:
    unpack(deb({"usr/include/hip/odd.h": b"abc"}, kind, links={"usr/lib/a.so": "a.so.7"}), tmp_path, "a.deb")
    assert (tmp_path / "usr/include/hip/odd.h").read_bytes() == b"abc"
    assert (tmp_path / "usr/lib/a.so").readlink() == Path("a.so.7")


@pytest.mark.parametrize(
    "content",
    [
        deb({"../outside": b"x"}),
        deb({"way/outside": b"x"}, links={"way": "../.."}),
        deb({"way/outside": b"x"}, links={"way": "/tmp"}),
        deb({"a": b"x"})[:-9],
        deb({"a": b"x"}).replace(b"\xfd7zXZ", b"\xfd8zXZ"),
        b"!<arch>\n",
        b"PK\3\4",
    ],
    ids=["a path upwards", "a link upwards", "a link away", "cut short", "damaged", "empty", "no package"],
)
def test_what_is_no_sound_package_is_refused_in_a_sentence(tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / "in" / "side"
    folder.mkdir(parents=True)
    with pytest.raises(PackageError, match=r"^a\.deb: ") as caught:
        unpack(content, folder, "a.deb")
    assert "\n" not in str(caught.value)
    assert not [file for file in tmp_path.rglob("outside")]


@pytest.mark.parametrize("target", ["../../victim", "{folder}/victim", "way/victim"], ids=["upwards", "away", "behind"])
def test_no_file_is_written_through_a_hard_link(tmp_path: Path, target: str) -> None:
    folder = tmp_path / "in" / "side"
    folder.mkdir(parents=True)
    (tmp_path / "victim").write_text("precious")
    hard = {"odd.h": target.format(folder=tmp_path)}
    with pytest.raises(PackageError, match=r"^a\.deb: "):
        unpack(deb({"odd.h": b"x"}, links={"way": "../.."}, hard=hard), folder, "a.deb")
    assert (tmp_path / "victim").read_text() == "precious"


def test_links_of_a_package_stay_within_it(tmp_path: Path) -> None:
    links = {"deep/up": "..", "astray": "deep/up/../../outside", "whole": "/dev/zero", "below/x": "../odd.h"}
    unpack(deb({"odd.h": b"abc"}, links=links, hard={"same.h": "./odd.h"}), tmp_path / "in", "a.deb")
    assert (tmp_path / "in/same.h").read_bytes() == (tmp_path / "in/below/x").read_bytes() == b"abc"
    assert sorted(file.name for file in tmp_path.rglob("*") if file.is_symlink()) == ["up", "x"]


def test_what_a_tree_has_links_to_elsewhere_is_not_kept(tmp_path: Path) -> None:
    unpack(deb(headers("6.4", "include")), tmp_path / "tree", "a.deb")
    (tmp_path / "secret").write_text("secret")
    hip = tmp_path / "tree/include/hip"
    (hip / "secret.h").symlink_to(tmp_path / "secret")
    (hip / "endless.h").symlink_to("/dev/zero")
    (hip / "loop").symlink_to(".")
    (hip / "same.h").symlink_to("hip_runtime.h")
    kept = take(tmp_path / "tree").include / "hip"
    assert sorted(file.name for file in kept.iterdir()) == ["hip_runtime.h", "hip_version.h", "same.h"]


def test_a_pipe_in_a_tree_is_not_waited_for(tmp_path: Path) -> None:
    unpack(deb(headers("6.4", "include")), tmp_path / "tree", "a.deb")
    version = tmp_path / "tree/include/hip/hip_version.h"
    version.unlink()
    os.mkfifo(version)
    with pytest.raises(ReleaseError, match="does not say which HIP"):
        take(tmp_path / "tree")


def test_a_folder_of_another_name_in_a_release_is_no_library(tmp_path: Path) -> None:
    (tmp_path / "a.deb").write_bytes(HEADERS)
    (take(tmp_path / "a.deb").folder / "llvm-old/amdgcn/bitcode").mkdir(parents=True)
    assert library_roots(22) == []


def test_a_release_may_be_brought_twice_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.deb").write_bytes(HEADERS)
    threads = [threading.Thread(target=lambda: [take(tmp_path / "a.deb") for _ in range(20)]) for _ in range(2)]
    errors: list[object] = []
    threading.excepthook, before = lambda args: errors.append(args.exc_value), threading.excepthook
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    threading.excepthook = before
    assert errors == []
    assert [release.version for release in fetched()] == ["7.2"]


def test_a_release_is_downloaded_by_digest(rows: tuple[Package, ...], archive: str) -> None:
    release = download("7.2", archive)
    assert hip_version(release.include) == "7.2"
    assert [folder.parent.parent.name for folder in release.libraries] == ["llvm-22", "llvm-17"]
    assert fetched() == [release]
    assert not list(release.folder.parent.glob("new-*"))


def test_a_package_that_left_the_archive_comes_from_the_snapshot(
    rows: tuple[Package, ...], archive: str, tmp_path: Path
) -> None:
    (tmp_path / "archive/snapshot").mkdir()
    (tmp_path / "archive/pool/libamdhip64-dev_1_amd64.deb").rename(tmp_path / "archive/snapshot" / rows[0].sha1)
    assert download("7.2", archive).version == "7.2"


def test_another_digest_is_refused_and_nothing_is_kept(rows: tuple[Package, ...], archive: str, tmp_path: Path) -> None:
    other = tmp_path / "archive/pool/libamdhip64-dev_1_amd64.deb"
    other.write_bytes(HEADERS[:-1] + bytes([HEADERS[-1] ^ 1]))
    with pytest.raises(ReleaseError, match=r"another size or SHA-256.*404.*--get hip-7\.2 --from FOLDER"):
        download("7.2", archive)
    assert fetched() == []


def test_a_release_comes_from_packages_that_lie_in_a_folder(rows: tuple[Package, ...], tmp_path: Path) -> None:
    (tmp_path / "a.deb").write_bytes(LIBRARIES)
    with pytest.raises(ReleaseError, match="does not have libamdhip64-dev 1; it is https://"):
        take(tmp_path, "7.2")
    (tmp_path / "b.deb").write_bytes(HEADERS)
    assert take(tmp_path, "7.2").libraries
    (tmp_path / "libamdhip64-dev_1_amd64.deb").write_bytes(HEADERS + b"\n")
    (tmp_path / "b.deb").unlink()
    with pytest.raises(ReleaseError, match=r"libamdhip64-dev_1_amd64\.deb has another size or SHA-256"):
        take(tmp_path, "7.2")


@pytest.mark.parametrize("folder", ["usr/include", "include", "opt/rocm-6.4.1/include"])
def test_any_package_or_tree_with_headers_will_do(tmp_path: Path, folder: str) -> None:
    files = {**headers("6.4", folder), **libraries("17.0.6", "opt/rocm-6.4.1")}
    (tmp_path / "hip-dev.deb").write_bytes(deb(files, ".gz"))
    of_package = take(tmp_path / "hip-dev.deb")
    assert (of_package.version, len(of_package.libraries)) == ("6.4", 1)
    remove("6.4")
    unpack(deb(files), tmp_path / "tree", "a.deb")
    assert take(tmp_path / "tree") == of_package


def test_what_has_no_headers_or_does_not_say_of_which_hip_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.deb").write_bytes(LIBRARIES)
    with pytest.raises(ReleaseError, match=r"a\.deb: has no headers of HIP"):
        take(tmp_path / "a.deb")
    files = {**headers("6.4"), "usr/include/hip/hip_version.h": b""}
    (tmp_path / "b.deb").write_bytes(deb(files))
    with pytest.raises(ReleaseError, match="does not say which HIP"):
        take(tmp_path / "b.deb")
    with pytest.raises(ReleaseError, match="there is no such file"):
        take(tmp_path / "c.deb")


def test_a_release_that_is_brought_again_takes_the_place_of_the_old(tmp_path: Path) -> None:
    for text in (b"// one\n", b"// two\n"):
        (tmp_path / "a.deb").write_bytes(deb({**headers("6.4"), "usr/include/hip/hip_runtime.h": text}))
        release = take(tmp_path / "a.deb")
        assert (release.include / "hip/hip_runtime.h").read_bytes() == text


def test_libraries_are_those_that_the_compiler_can_read(tmp_path: Path) -> None:
    (tmp_path / "a.deb").write_bytes(HEADERS)
    (tmp_path / "b.deb").write_bytes(LIBRARIES)
    take(tmp_path)
    assert [root.name for root in library_roots(22)] == ["llvm-22", "llvm-17"]
    assert [root.name for root in library_roots(21)] == ["llvm-17"]
    assert library_roots(16) == []


def test_the_newest_release_comes_first(tmp_path: Path) -> None:
    for version in ("6.4", "10.1", "7.2"):
        (tmp_path / "a.deb").write_bytes(deb(headers(version)))
        take(tmp_path / "a.deb")
    assert [release.version for release in fetched()] == ["10.1", "7.2", "6.4"]
    with pytest.raises(ReleaseError, match=r"hip-5\.7 is not in .* which has hip-10\.1, hip-7\.2, hip-6\.4"):
        remove("5.7")


def test_the_table_has_headers_and_libraries_of_every_release() -> None:
    assert f"`candle-parity toolchain --get hip-{known_releases()[0]}`" == GET
    for release in known_releases():
        names = [one.package for one in packages_of(release)]
        assert names.count("libamdhip64-dev") == 1
        assert "rocm-device-libs-17" in names
    for one in table():
        assert (len(one.sha256), len(one.sha1)) == (64, 40)
        assert one.file.startswith("pool/main/r/")
        assert one.name == f"{one.package}_{one.version}_amd64.deb"
    with pytest.raises(ReleaseError, match=r"expected one of hip-7\.2"):
        packages_of("5.2")
