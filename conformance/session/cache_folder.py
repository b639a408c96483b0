"""Whether the cache folder is one that only this harness has written."""

from __future__ import annotations

import os

from conformance.errors import UsageError
from conformance.files import CACHE, cache_folder
from conformance.repository import RepositoryError, committed_below


def check_cache() -> None:
    """Raises ``UsageError`` where the cache folder holds files that a repository has committed.

    Their author could have made up code objects and verdicts, which a run would take for its own.
    """
    folder = cache_folder()
    if not os.path.lexists(folder):
        return
    advice = f"name another folder in {CACHE}"
    try:
        committed = committed_below(folder)
    except RepositoryError as error:
        if not os.environ.get(CACHE):
            return  # the checkout of the harness itself
        raise UsageError(
            f"{CACHE}={folder}: lies in a work tree of which is not known what it holds ({error}); {advice}"
        ) from None
    if committed is not None:
        raise UsageError(f"{folder}: the cache folder holds {committed}, which its repository has committed; {advice}")
