"""Zstandard frames, by Python's own module where it has one (3.14), else by the package zstandard.

So an installation for a new Python does not wait for that package's wheels.
"""

from __future__ import annotations

import sys

WINDOW_LOG = 27
"""The largest window is 128 MiB, as much as ``zstd --ultra -22`` needs; a decompressor takes that much memory."""

_LEVEL = 19

if sys.version_info >= (3, 14):
    from compression import zstd

    def compress(data: bytes) -> bytes:
        """A frame that holds ``data``, with a checksum."""
        parameter = zstd.CompressionParameter
        return zstd.compress(data, options={parameter.compression_level: _LEVEL, parameter.checksum_flag: 1})

    def decompress(content: bytes, most: int) -> bytes:
        """The first ``most`` bytes that the first frame of ``content`` holds; raises ``ValueError``."""
        stream = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: WINDOW_LOG})
        try:
            return stream.decompress(content, most)
        except zstd.ZstdError as error:
            raise ValueError(f"its zstd frame cannot be decompressed: {error}") from None

else:
    import zstandard

    def compress(data: bytes) -> bytes:
        """A frame that holds ``data``, with a checksum."""
        return zstandard.ZstdCompressor(_LEVEL, write_checksum=True).compress(data)

    def decompress(content: bytes, most: int) -> bytes:
        """The first ``most`` bytes that the first frame of ``content`` holds; raises ``ValueError``."""
        try:
            with zstandard.ZstdDecompressor(max_window_size=1 << WINDOW_LOG).stream_reader(content) as stream:
                return bytes(stream.read(most))
        except zstandard.ZstdError as error:
            raise ValueError(f"its zstd frame cannot be decompressed: {error}") from None
