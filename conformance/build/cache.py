"""Compiled code objects, kept by the content of everything that can change them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from conformance.build.compiling import compile_in_child
from conformance.build.includes import reached
from conformance.build.objects import ObjectFolder
from conformance.build.options import NO_OPTIONS, BuildOptions
from conformance.build.sources import HEADER_SUFFIXES, KernelSource, SourceError
from conformance.build.target import Limits, Target
from conformance.files import cache_folder
from conformance.processes import Supervisor

_PATIENCE = 30.0
"""Seconds beyond a compilation's own limit that a process waits for another's."""


def compiled(
    source: KernelSource,
    target: Target,
    supervisor: Supervisor,
    options: BuildOptions = NO_OPTIONS,
    extra: Sequence[str] = (),
    limits: Limits = Limits(),  # noqa: B008 (frozen)
) -> bytes:
    """The code object of ``source``: from the cache, or compiled in a child process and kept.

    ``extra`` are further compiler options. The key covers the source, every header that it can include, the options,
    and the compiler with its target, so that no edit is missed. Headers are looked for next to the source, in the
    options' folders, then in the root. Processes that want the same object wait for one compilation, within the limits.

    Raises ``CompileError`` when the source does not compile, which is so too when it takes the compiler down or beyond
    its limits (failures are not kept), ``SourceError`` when a file cannot be read, and ``InfrastructureError`` when the
    machine cannot compile. A cache that is damaged or cannot be written is only told by ``take_warnings``.
    """
    if source.is_code_object:
        return source.code()
    text = source.text()
    words = [*options.words((source.path.parent,), (source.root,)), *extra, *target.words()]
    key = _key(source, text, target.identity, words, options)
    objects = ObjectFolder(cache_folder() / "objects")
    code = objects.read(key)
    if code is not None:
        return code
    with objects.turn(key, limits.seconds + _PATIENCE) as ours:
        code = objects.read(key) if ours else None
        if code is None:
            code = compile_in_child(text, source.label, words, target, supervisor, limits)
            if ours:
                objects.keep(key, code)
    return code


def _key(source: KernelSource, text: str, compiler: str, words: Sequence[str], options: BuildOptions) -> str:
    digest = hashlib.sha256()
    for part in (compiler, *words, str(source.path), text):
        digest.update(part.encode() + b"\0")
    folders = (*options.include_dirs, source.root)
    try:
        found = reached([source.path, *options.forced], (source.path.parent, *folders))
        headers = set(found.files)
        if not found.complete:
            headers |= {file for folder in folders for file in folder.rglob("*") if file.suffix in HEADER_SUFFIXES}
        for header in sorted(headers):
            if header.is_file():
                digest.update(str(header).encode() + b"\0" + header.read_bytes() + b"\0")
    except OSError as error:
        raise SourceError(
            f"{error.filename}: cannot be read ({error.strerror}), and {source.label} may include it"
        ) from error
    return digest.hexdigest()[:32]
