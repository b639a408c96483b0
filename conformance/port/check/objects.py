"""The kernels of AMD code objects, against the specs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from conformance.adapter import AdapterRow
from conformance.geometry import GeometryRow
from conformance.port.check.findings import CheckFinding
from conformance.port.check.near_names import intended_names, nearest
from conformance.port.check.zero_sign import lost_signs
from conformance.port.code_objects import CodeObject, KernelObject, read_code_objects
from conformance.port.declared.adapters import adapter_difference, adapter_of
from conformance.port.declared.geometry import geometry_of, largest_block
from conformance.port.declared.names import OWN_NAMES, Names
from conformance.port.signature import arguments, difference
from conformance.spec.kernel import Kernel
from conformance.toolchains.targets import lds_bytes

_MOST_THREADS = 1024
"""Of a block on any GPU."""


@dataclass(frozen=True)
class ObjectFile:
    """A code object, with the name of its file in reports. Its kernels may be under Candle's ``names``; its functions
    are not."""

    label: str
    code: CodeObject
    names: Names = OWN_NAMES


def read_objects(path: Path, label: str) -> list[ObjectFile]:
    """The code objects in one file: one, or one for each target of a bundle. Raises ``AmdError``."""
    return [ObjectFile(label, code) for code in read_code_objects(path)]


def object_under_candles_names(file: ObjectFile, names: Names) -> ObjectFile:
    """``file`` with each kernel under the names that Candle has for it.

    That can be several names, or none if the kernel's own name is Candle's for another kernel.
    """
    named = {
        name: replace(kernel, name=name) for port, kernel in file.code.kernels.items() for name in names.candles(port)
    }
    return replace(file, code=replace(file.code, kernels=named), names=names)


def check_objects(
    files: Sequence[ObjectFile],
    kernels: Mapping[str, Kernel],
    wanted: Sequence[Kernel],
    names: bool = True,
    geometry: Sequence[GeometryRow] = (),
    adapters: Sequence[AdapterRow] = (),
) -> list[CheckFinding]:
    """The findings in ``files``, target by target. Only ``wanted`` kernels can be missing.

    With ``names`` false only findings that do not depend on names: for objects whose sources were checked already.
    ``geometry`` and ``adapters`` are what the port declares of its launches and of its parameters.
    """
    findings: list[CheckFinding] = []
    for target in dict.fromkeys(file.code.target for file in files):
        mine = [file for file in files if file.code.target == target]
        first: dict[str, str] = {}
        for file in mine:
            for name, kernel in file.code.kernels.items():
                if name in first:
                    findings.append(
                        CheckFinding("duplicate", name, f"is in {first[name]} too", file.label, None, target)
                    )
                    continue
                first[name] = file.label
                if name in kernels:
                    row = adapter_of(adapters, name)
                    if row is None:
                        kind, message = "arguments", difference(kernels[name], arguments(kernel))
                    else:
                        kind, message = "adapter", adapter_difference(row, kernels[name], arguments(kernel))
                    if message is not None:
                        findings.append(CheckFinding(kind, name, message, file.label, None, target))
                    message = _block_limit(kernel, kernels[name], geometry)
                    if message is not None:
                        findings.append(CheckFinding("block_limit", name, message, file.label, None, target))
                findings += resources(kernel, file.label, target)
            for lost in lost_signs(file.code):
                kernel_of_candle = kernels.get(file.names.candle(lost.function) or "")
                if kernel_of_candle is not None and kernel_of_candle.family == "dequantize_block":
                    continue  # a weight of 0 is right with either sign
                place = lost.place or file.label
                findings += [
                    CheckFinding("zero_sign", name, lost.message, place, None, target)
                    for name in file.names.shown(lost.function)
                ]
        if names:
            findings += _names(first, kernels, wanted, target)
    return findings


def _block_limit(kernel: KernelObject, wanted: Kernel, geometry: Sequence[GeometryRow]) -> str | None:
    """Why a GPU refuses some of the launches, if it does."""
    if not 0 < kernel.max_workgroup < _MOST_THREADS:
        return None
    block = largest_block(wanted, geometry, kernel.wave)
    if block <= kernel.max_workgroup:
        return None
    whose = "Candle" if geometry_of(geometry, wanted.name) is None else "candle-parity.toml"
    return (
        f"allows blocks of at most {kernel.max_workgroup} threads (max_flat_workgroup_size), {whose} launches {block}; "
        "raise its __launch_bounds__ or amdgpu_flat_work_group_size"
    )


def resources(kernel: KernelObject, label: str, target: str) -> list[CheckFinding]:
    """Warnings about what ``kernel`` needs: registers that spill, and more shared memory than the target has."""
    findings = []
    if kernel.vgpr_spills or kernel.sgpr_spills:
        message = f"spills {kernel.vgpr_spills or 0} vector and {kernel.sgpr_spills or 0} scalar registers"
        findings.append(CheckFinding("spills", kernel.name, message, label, None, target))
    limit = lds_bytes(target.partition(":")[0])
    if kernel.lds > limit:
        message = f"needs {kernel.lds:,} bytes of shared memory, {target} has {limit:,}"
        findings.append(CheckFinding("lds", kernel.name, message, label, None, target))
    return findings


def _names(
    first: Mapping[str, str], kernels: Mapping[str, Kernel], wanted: Sequence[Kernel], target: str
) -> list[CheckFinding]:
    findings = []
    missing = [kernel.name for kernel in wanted if kernel.name not in first]
    extra = [name for name in first if name not in kernels]
    intended = intended_names(extra, missing)
    for name in extra:
        near = intended.get(name) or nearest(name, kernels.keys())
        hint = "" if near is None else f"; near {near}, {'which is missing' if near in missing else 'which is there'}"
        mangled = '; the name is mangled: extern "C" is missing' if name.startswith("_Z") else ""
        why = f"is not a name of the specs{mangled or hint}"
        findings.append(CheckFinding("extra", name, why, first[name], near, target))
    for name in missing:
        findings.append(CheckFinding("missing", name, "is in no code object", None, None, target))
    return findings
