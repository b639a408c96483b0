"""What a report says of a run: its name in a column, where it was executed, and how to run a kernel again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import PurePath

from conformance.files import KERNELS, SHIPPED, SHIPPED_KERNELS, SHIPPED_TRACES
from conformance.record import Record, RunInfo
from conformance.record.model import BUILD
from conformance.runtimes import known_kind
from conformance.runtimes.kind import NOTHING_RUNS
from conformance.settings import judged_with
from conformance.spec.load import Specs
from conformance.text import counted, one_line

Records = Record | Sequence[Record]


def listed(records: Records) -> list[Record]:
    """``records``, one or several, as a list. Raises ``ValueError`` for none."""
    records_listed = [records] if isinstance(records, Record) else list(records)
    if not records_listed:
        raise ValueError("a report needs at least one record")
    return records_listed


def executed(run: RunInfo) -> str:
    """Where the kernels ran, in words that cannot be mistaken for a GPU."""
    if run.subject == "reference" and run.program is not None:
        return f"launches of {one_line(run.program)}, compared with the reference; no kernel was run again"
    if run.subject == "reference":
        return "recorded answers compared with the reference; no kernel was run"
    if run.runtime == BUILD:
        return "compiled only; no kernel was run"
    kind = known_kind(run.runtime)
    if kind is None:
        return f"run through the runtime {run.runtime}; not known to be an AMD GPU"
    if run.emulator is not None:
        return f"executed through the ROCm runtime in the emulator {one_line(run.emulator)}; not on an AMD GPU"
    return kind.executed.format(arch=run.arch or "an AMD GPU")


def given_specs(run: RunInfo, specs: Specs) -> str:
    """`` of the given specs DIR (digest ...)`` where they are not the harness's own, else nothing; on one line.

    It follows every count of kernels that a percentage is of.
    """
    if run.specs is None and specs.given is None:
        return ""
    folder = str(specs.given) if run.specs is None else run.specs
    return f" of the given specs {one_line(folder)} (digest {one_line(run.specs_digest or specs.digest)})"


def _specs(run: RunInfo) -> str:
    if run.specs_digest is None:
        return run.specs or "–"
    folder = "the harness's own" if run.specs is None else run.specs
    return f"{folder} (digest {run.specs_digest})"


def identity(run: RunInfo) -> str:
    """Device, date, tree and commits, as far as known: ``NVIDIA H100, 2026-01-02, port (12 files, commit abc123),
    harness at def456``."""
    judged = what_was_judged(run)
    commits = (("port", None if judged else run.git), ("harness", run.harness))
    parts = [run.device, run.started[:10], *filter(None, [judged])]
    return ", ".join([*parts, *(f"{what} at {commit}" for what, commit in commits if commit)])


def what_was_judged(run: RunInfo) -> str:
    """The judged tree: ``../port (12 files, commit 8a17ca0a4c3d with changes)``, not escaped.

    "" where no kernel was run, and for an older record, which does not say it.
    """
    if run.files is None or run.kernels is None:
        return ""
    return judged_tree(run.kernels, run.files, run.git)


def judged_tree(kernels: str, files: int, commit: str | None) -> str:
    """How reports name a tree: its path, the number of kernel files, and its commit (with ``-dirty``: files differ from
    it)."""
    changed = " with changes" if commit is not None and commit.endswith("-dirty") else ""
    at = "in no commit" if commit is None else f"commit {commit.removesuffix('-dirty')}{changed}"
    return f"{kernels} ({counted(files, 'file')}, {at})"


def labels(records: Sequence[Record]) -> list[str]:
    """A short title for the column of each record, all different: ``cpu wave64``, ``rocm gfx942 wave64 #2``."""
    names: list[str] = []
    for record in records:
        run = record.run
        what = run.runtime
        if run.subject == "reference":
            what = "reference" if run.program is None else "program"
        kind = known_kind(run.runtime)
        if run.arch and (kind is None or not kind.on_host or kind.arch_variable is not None):
            what += f" {run.arch}"
        what = one_line(what)
        name = what if run.wave is None else f"{what} wave{run.wave}"
        if run.traces is not None and run.subject == "kernels":
            name += " replay"
        same = sum(other == name or other.startswith(f"{name} #") for other in names)
        names.append(f"{name} #{same + 1}" if same else name)
    return names


def rerun(run: RunInfo, kernel: str) -> str:
    """The command that runs one kernel again as it was run in ``run``."""
    args = ["candle-parity"]
    if run.traces is not None:
        args += ["replay", *([] if run.traces == SHIPPED_TRACES else [run.traces]), "--subject", run.subject]
    else:
        args += ["run"]
    if run.subject == "kernels":
        args += ["--runtime", run.runtime]
        kind = known_kind(run.runtime)
        if kind is not None and kind.chooses_wave and run.wave is not None:
            args += ["--wave", str(run.wave)]
        target = run.arch if kind is not None and kind.arch_variable is not None else run.target
        if target:
            args += ["--arch", target]
        args += ["--perturb", str(run.perturb)] if run.perturb else []
        args += [arg for one in judged_with(run.options) for arg in one.split(" ", 1)]
        if run.compiler not in (None, "auto"):
            args += ["--compiler", str(run.compiler)]
        if run.kernels == SHIPPED_KERNELS:
            args += ["--kernels", SHIPPED]
        elif run.kernels not in (None, KERNELS):
            args += ["--kernels", str(run.kernels)]
        args += [] if run.config is None else ["--config", run.config]
    if run.specs is not None:
        args += ["--specs", run.specs]
    return shlex.join([*args, kernel])


def _declared(run: RunInfo) -> str:
    digest = f" (digest {run.declared})" if run.declared else ""
    return f"{run.config}{digest}" if run.config else ""


def _told(run: RunInfo, setting: str | None, text: str) -> str:
    """``text``, and behind it that ``setting`` was declared by the port where the command line did not give it."""
    if setting not in run.declared_settings or run.config is None:
        return text
    return f"{text}, declared by {PurePath(run.config).name}"


def _orders(run: RunInfo) -> str:
    if run.orders:
        return ", ".join(run.orders)
    return "–" if run.runtime == BUILD else "the device's own"


def facts_table(records: Sequence[Record], upstream: str) -> list[tuple[str, list[str]]]:
    """The ``facts`` of several records: a heading, and a text for each record. Facts that no record has are left
    out."""
    columns = [facts(record.run, upstream) for record in records]
    rows = [(pairs[0][0], [text for _, text in pairs]) for pairs in zip(*columns, strict=True)]
    return [(heading, texts) for heading, texts in rows if any(texts)]


def facts(run: RunInfo, upstream: str) -> list[tuple[str, str]]:
    """What was run, on what and when: pairs of a heading and a text, always the same headings in the same order.

    A text is "" where it only matters on machines with ROCm or signs of it. A setting that the port's file gave and not
    the command line has "declared by candle-parity.toml" behind it.
    """
    minutes, seconds = divmod(run.seconds, 60)
    kind = known_kind(run.runtime)
    of_device = kind is not None and kind.arch_variable is not None  # --arch chooses the device, not macros
    return [
        ("Executed", executed(run)),
        ("Runtime", _told(run, "runtime", run.runtime) if run.subject == "kernels" else NOTHING_RUNS.name),
        ("Device", _told(run, "arch" if of_device else None, run.device + (f" ({run.arch})" if run.arch else ""))),
        ("Host", run.host or "–"),
        ("Why on the host", run.fallback or ""),
        ("HIP", ", ".join(part for part in (run.hip_version, run.library) if part)),
        ("Other HIP libraries found", "; ".join(run.other_libraries)),
        ("Driver", run.driver or ""),
        ("Emulator", run.emulator or ""),
        ("Devices left out", "; ".join(run.left_out_devices)),
        ("Devices hidden by", ", ".join(run.visible)),
        ("Wave size", "–" if run.wave is None else _told(run, "wave", str(run.wave))),
        ("Thread orders", _orders(run)),
        ("Kernels", _told(run, "kernels", run.kernels) if run.kernels else "–"),
        ("Compiled with", " ".join(one for one in run.options if one not in judged_with(run.options))),
        ("Judged with", " ".join(judged_with(run.options))),
        ("Macros of", _told(run, "arch", run.target) if run.target else ""),
        ("Declared in", _declared(run)),
        ("Commit of the port", run.git or "–"),
        ("Commit of the harness", run.harness or "–"),
        ("Compiled for", ", ".join(run.builds) or "–"),
        ("Upstream", f"{upstream} at {run.upstream_commit}"),
        ("Program", run.program or ""),
        ("Recorded cases", "; ".join([run.traces, *run.recorded_on]) if run.traces else "–"),
        ("Selected", ", ".join(run.patterns) or "everything"),
        ("Specs", _specs(run)),
        ("Sandbox", run.sandbox or "–"),
        ("Checks weakened", ", ".join(run.weakened) or "–"),
        ("Started", run.started),
        ("Took", f"{int(minutes)} min {seconds:.0f} s" if minutes else f"{seconds:.1f} s"),
        ("hip-python", run.hip_python or "–"),
    ]
