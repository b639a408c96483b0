"""The catalogue: which mutants there are of which tree, and what is known of them beforehand."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from conformance.files import kernels_folder
from conformance.port.definitions.source_text import reached
from conformance.spec.kernel import Kernel
from conformance.spec.load import load_specs
from tests.selftest.schemata import Mutant
from tests.selftest.sites import Change, changes

HERE = Path(__file__).parent
WEIGHTS = {
    "variable": 0.3,
    "constant": 0.7,
    "width": 0.15,
    "statement": 1.5,
    "barrier": 5.0,
    "guard": 2.0,
    "bound": 1.5,
}
HOMES = {
    "include/portable.h": "cast binary",
    "include/convert.h": "cast",
    "include/arithmetic.h": "affine binary",
    "include/reduction.h": "reduce",
    "include/unary_ops.h": "unary",
    "include/strided.h": "binary ternary indexing",
    "include/contiguous.h": "binary ternary affine cast",
    "include/elementwise.h": "binary ternary affine cast",
    "include/target_host.h": "affine cast reduce",
    "include/pack.h": "ternary indexing",
    "include/quantized/dmmv.h": "quantized",
    "include/quantized/k_quant_formats.h": "quantized mmvq mmq",
    "include/quantized/block32_formats.h": "quantized mmvq",
    "include/quantized/format.h": "quantized mmvq",
    "include/quantized/half_values.h": "quantized",
    "include/quantized/quantize_q8_1.h": "mmvq quantized",
    "include/quantized/blocks.h": "quantized",
    "cuda_utils.cuh": "reduce ternary affine",
    "compatibility.cuh": "reduce sort indexing",
}
"""Where headers that many sources include are used most."""

CANDLE_SOURCES = [
    "affine",
    "binary",
    "cast",
    "conv",
    "fill",
    "indexing",
    "mmvq_gguf",
    "quantized",
    "reduce",
    "sort",
    "ternary",
    "unary",
]


@dataclass(frozen=True, eq=False)
class Source:
    """A source that is compiled, its kernels or launchers, and the files of the tree that go into it."""

    tree: str
    root: Path
    stem: str
    kernels: tuple[Kernel, ...]
    files: frozenset[str]

    @property
    def name(self) -> str:
        return f"{self.tree}/{self.stem}"


@cache
def sources(candle: Path | None = None) -> tuple[Source, ...]:
    """Those of our port, and of Candle's own kernels where there is a checkout."""
    specs = load_specs()
    entries = (*specs.kernels.values(), *specs.launchers.values())
    ours = kernels_folder()
    rows = [("ours", ours, path.stem, path, lambda k, stem: k.module == stem) for path in sorted(ours.glob("*.hip"))]
    if candle is not None:
        root = candle / "candle-kernels" / "src"
        rows += [
            ("candle", root, stem, root / f"{stem}.cu", lambda k, stem: k.upstream.split(":")[0] == f"{stem}.cu")
            for stem in CANDLE_SOURCES
        ]
    found = []
    for tree, root, stem, path, is_of in rows:
        files = {one.relative_to(root).as_posix() for one in reached([path], [root]).files if one.is_relative_to(root)}
        kernels = [kernel for kernel in entries if is_of(kernel, stem)]
        random.Random(stem).shuffle(kernels)  # a mutant meets every dtype and operation soon
        found.append(Source(tree, root, stem, tuple(kernels), frozenset(files)))
    return tuple(found)


def line_of(text: bytes, change: Change) -> int:
    return text.count(b"\n", 0, change.start) + 1


def mutants_of(root: Path, file: str, tree: str) -> list[Mutant]:
    """Every mutant of ``file`` by the general operators."""
    text = (root / file).read_bytes()
    found = []
    for change in changes(text):
        old = " ".join(text[change.start : change.end].decode("latin-1").split())
        unit = " ".join(text[change.unit[0] : change.unit[1]].decode("latin-1").replace("\\\n", " ").split())
        new = " ".join(change.new.split())
        found.append(Mutant(tree, file, line_of(text, change), change.operator, f"{old} -> {new}", unit, change))
    return found


def sampled(every: Sequence[Source], count: int, seed: int) -> list[tuple[Source, Mutant]]:
    """``count`` mutants, spread over files and operators, each with the source in which it is tried first."""
    chance = random.Random(seed)
    users: dict[tuple[str, str], list[Source]] = defaultdict(list)
    for source in every:
        for file in sorted(source.files):
            users[source.tree, file].append(source)
    pools = {}
    for (tree, file), using in users.items():
        rows = [
            (chance.random() / WEIGHTS.get(one.operator, 1.0), one) for one in mutants_of(using[0].root, file, tree)
        ]
        pools[tree, file] = [one for _, one in sorted(rows, key=lambda row: row[0])]
    total = sum(len(pool) ** 0.6 for pool in pools.values())
    found = []
    for key, pool in pools.items():
        for mutant in pool[: max(count > 0, round(count * len(pool) ** 0.6 / total))]:
            wanted = HOMES.get(mutant.file, "").split()
            using = [one for one in users[key] if one.stem in wanted] or users[key]
            found.append((chance.choice(using), mutant))
    return found


@dataclass(frozen=True)
class Known:
    """What was decided by hand of mutants of ``file``: those in a unit with the text ``unit``."""

    kind: str
    file: re.Pattern[str]
    unit: str
    change: re.Pattern[str]
    why: str

    def holds(self, file: str, unit: str, change: str) -> bool:
        return (
            self.file.fullmatch(file) is not None
            and (self.unit[1:] == unit if self.unit.startswith("=") else self.unit in unit)
            and self.change.fullmatch(change) is not None
        )


def decided(path: Path) -> tuple[Known, ...]:
    """The rows of a file such as equivalent.yaml."""
    rows = []
    for kind, groups in yaml.safe_load(path.read_text()).items():
        if kind == "launches":
            continue
        for group in groups or ():
            for row in group["of"]:
                file, unit, *change = row if isinstance(row, list) else [row, ""]
                pattern = re.compile(change[0] if change else ".*")
                rows.append(Known(kind, re.compile(file), unit, pattern, group["why"]))
    return tuple(rows)


@cache
def known() -> tuple[Known, ...]:
    """The rows of equivalent.yaml."""
    return decided(HERE / "equivalent.yaml")


def is_equivalent_launch(name: str) -> bool:
    """Whether a wrong launch is known to give the same."""
    rows = yaml.safe_load((HERE / "equivalent.yaml").read_text())["launches"]
    return any(re.fullmatch(pattern, name) for group in rows for pattern in group["of"])


def known_of(mutant: Mutant, reached: bool = True) -> Known | None:
    """What was decided of it, or with ``reached`` unset why no case comes to it."""
    where = (f"{mutant.tree}/{mutant.file}", mutant.unit, f"{mutant.operator}: {mutant.old}")
    return next((row for row in known() if (row.kind != "unreached") == reached and row.holds(*where)), None)


@dataclass(frozen=True)
class Alone:
    """An edit of what only a compiler reads: what takes whose place in which file, and the kernel that is judged."""

    bug_class: str
    file: str
    old: str
    new: str
    source: str
    keep: str
    kernel: str


@cache
def bug_classes() -> dict[str, dict[str, Any]]:
    """The rows of bug_classes.yaml: ``edits``, ``alone`` and ``launch``, or why there are none."""
    rows = yaml.safe_load((HERE / "bug_classes.yaml").read_text())
    return {
        name: {"why": row} if isinstance(row, str) else {"edits": row} if isinstance(row, list) else row
        for name, row in rows.items()
    }


def of_bug_classes(every: Sequence[Source]) -> list[tuple[Source, Mutant]]:
    """The edits of bug classes that can be told apart at run time, each with the source where it is tried first."""
    found = []
    for name, row in bug_classes().items():
        for file, old, new, *nth in row.get("edits", ()):
            tree, _, path = file.rpartition("candle/")
            tree = "candle" if tree or file.startswith("candle/") else "ours"
            users = [source for source in every if source.tree == tree and path in source.files]
            if not users:
                continue
            text = (users[0].root / path).read_bytes()
            pattern = rb"\s+".join(re.escape(part.encode()) for part in old.split())
            places = list(re.finditer(pattern, text))
            if not places:
                raise ValueError(f"bug_classes.yaml: {name}: {file} has no {old!r}")
            start, end = places[nth[0] - 1 if nth else 0].span()
            in_macro = text[: text.find(b"\n", start)].endswith(b"\\")
            change = Change(name, start, end, new, (start, end), old.endswith((";", "; }")), in_macro)
            wanted = HOMES.get(path, "").split()
            home = next((one for one in users if one.stem in wanted), users[0])
            line = line_of(text, change)
            found.append((home, Mutant(tree, path, line, name, f"{old} -> {new}", old, change)))
    return found


def alone() -> list[Alone]:
    """The edits that are compiled each by itself."""
    return [Alone(name, *row["alone"]) for name, row in bug_classes().items() if "alone" in row]
