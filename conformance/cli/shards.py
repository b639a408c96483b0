"""``--shard I/N``: a part of the selected kernels, so that N machines judge all of them.

``python -m conformance.cli.shards RECORD...`` writes the costs that they are split by, from records of runs of
everything: of each kernel and launcher the least, since what else the machine does only adds to it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from conformance.errors import UsageError
from conformance.files import spec_folder
from conformance.option import Shard
from conformance.record import Record, read_record, write_text
from conformance.spec.kernel import Kernel

COSTS = "costs.json"
"""Next to the shipped specs: seconds by kernel and launcher, as runs measured them."""


def shards_of(kernels: Sequence[Kernel], of: int) -> dict[str, Shard]:
    """The shard of each of ``kernels``, launchers among them, by name.

    Neighbours in the specs are in the same shard, so that few files are compiled twice. Every shard has about the same
    share of the measured time. The result only depends on the specs and on the shipped costs. Raises ``UsageError``
    where a shard would be empty.
    """
    count = len(kernels)
    if of > count:
        raise UsageError(
            f"--shard: {count} kernels are selected, which is less than {of} shards; ask for at most {count}"
        )
    costs = _costs()
    usual = sum(costs.values()) / len(costs)
    mine = [costs.get(kernel.name, usual) for kernel in kernels]
    total, before, last = sum(mine), 0.0, -1
    shards: dict[str, Shard] = {}
    for position, (kernel, cost) in enumerate(zip(kernels, mine, strict=True)):
        wanted = int(of * (before + cost / 2) / total)
        # None is left empty: the next one begins at once, or early enough for those that are still to come.
        last = min(max(wanted, last, of - (count - position)), last + 1)
        shards[kernel.name] = Shard(last + 1, of)
        before += cost
    return shards


def measured(records: Iterable[Record]) -> str:
    """The text of the costs file: the least time of each kernel and launcher in ``records``."""
    costs: dict[str, float] = {}
    for record in records:
        for row in (*record.kernels, *record.launchers):
            if row.cases:
                seconds = max(round(row.seconds or 0.0, 3), 0.001)
                costs[row.name] = min(seconds, costs.get(row.name, seconds))
    return json.dumps(costs, indent=0)


def _costs() -> Mapping[str, float]:
    costs: dict[str, float] = json.loads((spec_folder() / COSTS).read_text(encoding="utf-8"))
    return costs


if __name__ == "__main__":
    write_text(spec_folder() / COSTS, measured(read_record(Path(name)) for name in sys.argv[1:]) + "\n")
