"""From compiled code objects to a record that says what compiles for which AMD target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from conformance.engine.modes import Tree
from conformance.port.check.objects import ObjectFile
from conformance.port.code_objects import KernelObject
from conformance.port.digest import tree_digest
from conformance.record.assemble import shown, shown_options
from conformance.record.commits import commit_of, harness_commit
from conformance.record.merge import BUILD
from conformance.record.model import Build, KernelResult, Record, Resources, RunInfo, every_kernel
from conformance.spec.load import Specs


def build_record(
    specs: Specs,
    tree: Tree,
    compiler: str,
    started: datetime,
    seconds: float,
    objects: Mapping[str, Sequence[ObjectFile]],
    failed: Mapping[str, Mapping[str, str]],
    broken: Mapping[str, Mapping[str, str]],
    lacking: Mapping[str, Mapping[str, str]],
) -> Record:
    """The record of one ``build``: every kernel ``not_run``, with what it compiles for.

    ``objects`` has the code objects of each target, labelled with their source, with kernels under Candle's names;
    ``failed`` the first error of each source that does not compile, ``broken`` that of each kernel which is not in its
    source's object, ``lacking`` the header that the installation does not have for a source. Kernels that no spec has
    are left out.
    """
    when = started.strftime("%Y-%m-%dT%H:%M:%SZ")
    compiled: dict[str, dict[str, Resources]] = {}
    sources: dict[str, str] = {}
    for target, files in objects.items():
        for file in files:
            for name, kernel in file.code.kernels.items():
                compiled.setdefault(name, {})[target] = _resources(kernel)
                sources[name] = file.label
    rows = [
        KernelResult.not_run(
            specs.kernels[name],
            source=sources[name],
            compiles_for=targets,
            port_name=tree.declared.names.ports.get(name),
        )
        for name, targets in compiled.items()
        if name in specs.kernels
    ]
    run = RunInfo(
        runtime=BUILD,
        device="no device",
        kernels=shown(tree.path),
        started=when,
        seconds=round(seconds, 3),
        upstream_commit=specs.upstream_commit,
        git=commit_of(tree.path),
        harness=harness_commit(),
        sources=tree_digest(tree.path, tree.options),
        declared=tree.declared.digest,
        options=shown_options(tree.options),
        specs=None if specs.given is None else shown(specs.given),
        specs_digest=specs.digest or None,
        builds={
            target: Build(
                compiler=compiler,
                started=when,
                failed=dict(failed.get(target, {})),
                broken=dict(broken.get(target, {})),
                lacking=dict(lacking.get(target, {})),
            )
            for target in objects
        },
    )
    return Record.of(run, every_kernel(specs, rows))


def _resources(kernel: KernelObject) -> Resources:
    return Resources(
        vgpr=kernel.vgprs,
        sgpr=kernel.sgprs,
        spills=(kernel.vgpr_spills or 0) + (kernel.sgpr_spills or 0),
        lds=kernel.lds,
        scratch=kernel.scratch,
        wave=kernel.wave,
        kernarg=kernel.kernarg,
    )
