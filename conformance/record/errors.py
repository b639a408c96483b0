"""What goes wrong with record files and with any output file."""

from __future__ import annotations


class RecordError(Exception):
    """A file that cannot be read or written; the message names the file, what is wrong and what to do."""
