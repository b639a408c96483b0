"""The list of docs/hip-functions.md, made of the sources of the emulated runtime:
``python -m tests.house.hip_functions_page`` writes it."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

from conformance.emulate.installation import FUNCTIONS, absent_functions, runtime_plan
from conformance.files import ROOT

PAGE = ROOT / "docs" / "hip-functions.md"
WIDTH = 100

HEAD = """# HIP functions of the emulated GPU

For authors of programs that run under [candle-parity emulate](emulate.md): {there} of the {all} functions of HIP's
runtime API are emulated. The others can be linked: a call says so on standard error and returns
`hipErrorNotSupported`.
Of those that are emulated, hints and settings for speed alone (such as `hipMemAdvise`, `hipMemPrefetchAsync` and
`hipDeviceSetCacheConfig`) are accepted and change nothing.
`python -m tests.house.hip_functions_page` writes this page from the sources.
"""


def block(names: Sequence[str]) -> str:
    """``names`` as a block of code."""
    return f"```text\n{fill(' '.join(names), WIDTH)}\n```"


def page() -> str:
    everything = FUNCTIONS.read_text(encoding="utf-8").split()
    absent = absent_functions(runtime_plan())
    there = [name for name in everything if name not in set(absent)]
    head = HEAD.format(there=len(there), all=len(everything))
    return f"{head}\n## Emulated\n\n{block(there)}\n\n## Not emulated\n\n{block(absent)}\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
