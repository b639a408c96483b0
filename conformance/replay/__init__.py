"""Recorded launches with the answers that Candle's own kernels gave.

An archive holds cases, and the arrays that they name:

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from conformance.replay.archive import read_header, write_archive
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "fill.traces.xz"
    ...     write_archive(file, [{"kernel": "fill_u8", "case": "small"}], {"out": np.zeros(3, np.uint8)})
    ...     read_header(file).rows
    [('out', dtype('uint8'), 3)]
"""

from conformance.replay.traces import TraceError, Traces
