"""Records that are compressed: read by their first bytes, written by the suffix, bounded when decompressed."""

from __future__ import annotations

import json
import lzma
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance import zstd
from conformance.reading import MIB, read_json
from conformance.record import Record, read_record, record_text, write_record
from conformance.writing import FileError
from tests.record.made import row
from tests.runs import run_info

RECORD = Record.of(run_info(), [row(f"k{n}", "pass") for n in range(50)])
COMPRESSED: dict[str, Callable[[bytes], bytes]] = {"xz": lzma.compress, "zst": zstd.compress}


def zstd_frame(content: bytes, window_log: int) -> bytes:
    """RFC 8878: magic number, descriptor, window, and one raw block, which is the last."""
    block = (len(content) << 3 | 1).to_bytes(3, "little")
    return b"\x28\xb5\x2f\xfd\x00" + bytes([window_log - 10 << 3]) + block + content


formats = pytest.mark.parametrize("suffix", COMPRESSED)


def test_the_suffix_says_how_a_record_is_written(tmp_path: Path) -> None:
    starts = {"r.json": b"{", "r.json.xz": b"\xfd7zXZ", "r.json.zst": b"\x28\xb5\x2f\xfd"}
    for name, start in starts.items():
        write_record(RECORD, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
        assert read_record(tmp_path / name) == RECORD
    assert (tmp_path / "r.json.xz").stat().st_size * 10 < (tmp_path / "r.json").stat().st_size


@formats
def test_the_name_of_a_file_does_not_matter_when_it_is_read(tmp_path: Path, suffix: str) -> None:
    (tmp_path / "record.json").write_bytes(COMPRESSED[suffix](record_text(RECORD).encode()))
    assert read_record(tmp_path / "record.json") == RECORD
    (tmp_path / f"record.json.{suffix}").write_text(record_text(RECORD))
    assert read_record(tmp_path / f"record.json.{suffix}") == RECORD


@formats
def test_the_same_record_gives_the_same_bytes(tmp_path: Path, suffix: str) -> None:
    paths = [tmp_path / f"{name}.json.{suffix}" for name in "ab"]
    for path in paths:
        write_record(RECORD, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


@formats
def test_a_compressed_record_comes_through_a_pipe(tmp_path: Path, suffix: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    content = COMPRESSED[suffix](record_text(RECORD).encode())
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(content,), daemon=True)
    writer.start()
    assert read_record(tmp_path / "pipe") == RECORD
    writer.join(10)


@formats
def test_what_is_cut_short_is_one_clear_line(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"record.json.{suffix}"
    content = COMPRESSED[suffix](record_text(RECORD).encode())
    for length in (7, 20, len(content) // 2, len(content) - 30):
        path.write_bytes(content[:length])
        with pytest.raises(FileError, match=r"not valid JSON \(.*\); was the file cut short\?") as caught:
            read_record(path)
        assert "\n" not in str(caught.value)


@formats
def test_a_changed_byte_of_a_written_record_is_noticed(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"record.json.{suffix}"
    write_record(RECORD, path)
    content = path.read_bytes()
    for place in range(0, len(content), 41):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        with pytest.raises(FileError):
            read_record(path)


@pytest.mark.slow("decompresses what is large")
@formats
def test_a_bomb_is_not_decompressed_to_its_end(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"bomb.json.{suffix}"
    path.write_bytes(COMPRESSED[suffix](b" " * (64 * MIB)))
    assert path.stat().st_size < MIB // 32
    with pytest.raises(OSError, match="larger than 8 MiB when decompressed"):
        read_json(path, most=8 * MIB)


def test_a_window_that_takes_too_much_memory_is_refused(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 512 * MIB}]
    (tmp_path / "wide.xz").write_bytes(lzma.compress(json.dumps({}).encode(), filters=filters))
    with pytest.raises(ValueError, match="cannot be decompressed: Memory usage limit"):
        read_json(tmp_path / "wide.xz")
    (tmp_path / "widest.zst").write_bytes(zstd_frame(b"{}", window_log=27))
    assert read_json(tmp_path / "widest.zst") == {}
    (tmp_path / "wide.zst").write_bytes(zstd_frame(b"{}", window_log=28))
    with pytest.raises(ValueError, match="its zstd frame cannot be decompressed: "):
        read_json(tmp_path / "wide.zst")


def test_bytes_after_a_stream_are_refused(tmp_path: Path) -> None:
    (tmp_path / "two.xz").write_bytes(lzma.compress(b"{}") * 2)
    with pytest.raises(ValueError, match="bytes follow its xz stream"):
        read_json(tmp_path / "two.xz")
