"""The kernels of AMD code objects, against the specs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from conformance.port.check.findings import Finding
from conformance.port.check.near_names import intended_names, nearest
from conformance.port.check.zero_sign import lost_signs
from conformance.port.code_objects import CodeObject, KernelObject, read_code_objects
from conformance.port.declared.names import OWN_NAMES, Names
from conformance.port.signature import arguments, difference
from conformance.spec.kernel import Kernel
from conformance.toolchains.targets import lds_bytes


@dataclass(frozen=True)
class ObjectFile:
    """A code object and how reports name its file; its kernels are under Candle's ``names``, not so its functions."""

    label: str
    code: CodeObject
    names: Names = OWN_NAMES


def read_objects(path: Path, label: str) -> list[ObjectFile]:
    """The code objects in one file; raises ``AmdError``."""
    return [ObjectFile(label, code) for code in read_code_objects(path)]


def object_under_candles_names(file: ObjectFile, names: Names) -> ObjectFile:
    """``file`` with its kernels under Candle's names, without those that have a name of Candle's for another kernel."""
    kernels = {names.candle(name): kernel for name, kernel in file.code.kernels.items()}
    named = {name: replace(kernel, name=name) for name, kernel in kernels.items() if name is not None}
    return replace(file, code=replace(file.code, kernels=named), names=names)


def check_objects(
    files: Sequence[ObjectFile], kernels: Mapping[str, Kernel], wanted: Sequence[Kernel], names: bool = True
) -> list[Finding]:
    """The findings of ``files``, target by target; only ``wanted`` kernels can be missing.

    Without ``names`` only what does not depend on names: for objects of sources that were checked themselves.
    """
    findings: list[Finding] = []
    for target in dict.fromkeys(file.code.target for file in files):
        mine = [file for file in files if file.code.target == target]
        first: dict[str, str] = {}
        for file in mine:
            for name, kernel in file.code.kernels.items():
                if name in first:
                    findings.append(Finding("duplicate", name, f"is in {first[name]} too", file.label, None, target))
                    continue
                first[name] = file.label
                if name in kernels:
                    message = difference(kernels[name], arguments(kernel))
                    if message is not None:
                        findings.append(Finding("arguments", name, message, file.label, None, target))
                findings += resources(kernel, file.label, target)
            for lost in lost_signs(file.code):
                kernel_of_candle = kernels.get(file.names.candle(lost.function) or "")
                if kernel_of_candle is not None and kernel_of_candle.family == "dequantize_block":
                    continue  # a weight of 0 is right with either sign
                place = lost.place or file.label
                findings.append(
                    Finding("zero_sign", file.names.shown(lost.function), lost.message, place, None, target)
                )
        if names:
            findings += _names(first, kernels, wanted, target)
    return findings


def resources(kernel: KernelObject, label: str, target: str) -> list[Finding]:
    """Warnings of what ``kernel`` needs: spilled registers, and shared memory over the target's limit."""
    findings = []
    if kernel.vgpr_spills or kernel.sgpr_spills:
        message = f"spills {kernel.vgpr_spills or 0} vector and {kernel.sgpr_spills or 0} scalar registers"
        findings.append(Finding("spills", kernel.name, message, label, None, target))
    limit = lds_bytes(target.partition(":")[0])
    if kernel.lds > limit:
        message = f"needs {kernel.lds:,} bytes of shared memory, {target} has {limit:,}"
        findings.append(Finding("lds", kernel.name, message, label, None, target))
    return findings


def _names(
    first: Mapping[str, str], kernels: Mapping[str, Kernel], wanted: Sequence[Kernel], target: str
) -> list[Finding]:
    findings = []
    missing = [kernel.name for kernel in wanted if kernel.name not in first]
    extra = [name for name in first if name not in kernels]
    intended = intended_names(extra, missing)
    for name in extra:
        near = intended.get(name) or nearest(name, kernels.keys())
        hint = "" if near is None else f"; near {near}, {'which is missing' if near in missing else 'which is there'}"
        mangled = '; the name is mangled: extern "C" is missing' if name.startswith("_Z") else ""
        why = f"is not a name of the specs{mangled or hint}"
        findings.append(Finding("extra", name, why, first[name], near, target))
    for name in missing:
        findings.append(Finding("missing", name, "is in no code object", None, None, target))
    return findings
