"""Right kernels on trial: none may be rejected."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from conformance.files import REFERENCE
from tests.causes.test_planted import MENDED, NAMES
from tests.sums.test_any_order import FOLDER as SUMS
from tests.sums.test_any_order import HEADERS, MORE_ACCURATE, RIGHT

ROOT = REFERENCE.parent
NOT_MENDED = ("not recognised", "empty-maximum")
"""Of tests/causes: what has no advice, and an argmax that is not the lowest index, as the file declares it."""


@dataclass(frozen=True)
class Variant:
    """A source with a definition, the kernels meant, and why they are right."""

    what: str
    source: Path
    options: tuple[str, ...]
    kernels: str
    why: str
    waves: tuple[int, ...] = (64, 32)
    toml: str = ""


def variants() -> list[Variant]:
    """Those of variants.yaml and of tests/sums."""
    found = [
        Variant(
            f"{row.file}, {row.what}",
            SUMS / f"{row.file}.hip",
            ("-I", str(HEADERS), *(word for one in row.defined.split() for word in ("-D", one))),
            row.only,
            "tests/sums",
            (64,) if "wave64" in row.defined else (64, 32),
        )
        for row in RIGHT + MORE_ACCURATE
    ]
    for group in yaml.safe_load((Path(__file__).parent / "variants.yaml").read_text()):
        for value, why in group["of"].items():
            options = ("-D", f"{group['macro']}={value}", *group.get("options", ()))
            planted = "planted" in group["source"]
            kernels = (
                " ".join(name for name, cause in NAMES.items() if cause not in NOT_MENDED)
                if planted
                else group["kernels"]
            )
            waves = tuple(group.get("waves", (64, 32)))
            source = ROOT / group["source"]
            what, toml = f"{source.stem}, {group['macro']}={value}", MENDED if planted else ""
            found.append(Variant(what, source, options, kernels, why, waves, toml))
    return found


def candles(checkout: Path) -> list[Variant]:
    """Candle's own kernels and launchers, unmodified: the right answer by definition."""
    source = checkout / "candle-kernels" / "src"
    return [
        Variant(f"Candle's own {path.stem}", path, ("-I", str(source)), "", "Candle's own", (32,))
        for path in sorted(source.glob("*.cu"))
    ]


@dataclass(frozen=True)
class Verdicts:
    """How many kernels of a variant passed in a run, and those that did not."""

    variant: Variant
    run: str
    passed: frozenset[str]
    rejected: dict[str, str]


def judged(variant: Variant, options: Sequence[str], strict: bool = False) -> Verdicts:
    """``candle-parity run`` of a variant; what it does not define is not on trial, unless ``strict``."""
    with tempfile.TemporaryDirectory(prefix="selftest-") as folder:
        record = Path(folder) / "record.json"
        words = [
            "run",
            "-j",
            "1",
            "-q",
            "--kernels",
            str(variant.source),
            *variant.options,
            "--json",
            str(record),
            *options,
        ]
        if variant.toml:
            (Path(folder) / "candle-parity.toml").write_text(variant.toml)
            words += ["--config", f"{folder}/candle-parity.toml"]
        program = "import sys; from conformance.cli.main import main; sys.exit(main(sys.argv[1:]))"
        command = [sys.executable, "-c", program, *words, *variant.kernels.split()]
        ended = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
        name = shlex.join(options)
        if not record.is_file():
            return Verdicts(variant, name, frozenset(), {"": ended.stderr[-400:]})
        content = json.loads(record.read_text())
        rows = [*content["kernels"], *content.get("launchers", ())]
    rows = [row for row in rows if strict or row["status"] != "missing"]
    rows = [row for row in rows if row["status"] != "not_run" or row["message"]]
    passed = frozenset(row["name"] for row in rows if row["status"] == "pass")
    others = [row for row in rows if row["status"] != "pass"]
    rejected = {row["name"]: f"{row['status']}: {row['message'] or row['failures'][:1]}" for row in others}
    return Verdicts(variant, name, passed, rejected)


def try_variants(every: Sequence[Variant], salts: int, machine_code: Sequence[str], workers: int) -> list[Verdicts]:
    """Every variant with every salt and wave size, and for each target of ``machine_code``."""
    runs = [
        (one, ("--runtime", "cpu", "--wave", str(wave), "--seed-salt", str(salt or "")))
        for one in every
        for wave in one.waves
        for salt in range(salts)
    ]
    plain = [
        replace(one, options=tuple(word for word in one.options if not word.startswith("--flag"))) for one in every
    ]
    for arch in machine_code:
        runs += [(one, ("--runtime", "isa", "--arch", arch)) for one in plain if one.source.suffix == ".hip"]
    found: list[Verdicts] = []
    with ThreadPoolExecutor(workers) as pool:
        for done in as_completed([pool.submit(judged, *row) for row in runs]):
            found.append(done.result())
            one = found[-1]
            counts = f"{len(one.passed)} pass, {len(one.rejected)} rejected"
            print(f"{len(found)} of {len(runs)}: {one.variant.what}, {one.run}: {counts}", file=sys.stderr)
    return found
