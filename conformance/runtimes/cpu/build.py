"""Building libamdhip64.so and libhiprtc.so of a runtime of ours, once per content of their sources.

A build is a folder with both libraries, headers that forward to ours in ``include``, and a manifest of their digests,
checked before they are opened: a library that was cut off would end this process with SIGBUS. A wheel for x86-64 has
the libraries of the cpu runtime inside (ci/build_hook.py), which are copied instead of compiled.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from conformance.cache import locked
from conformance.files import DATA, cache_folder
from conformance.notices import warn
from conformance.processes import InfrastructureError, Supervisor
from conformance.processes.supervisor import MARK, has_room
from conformance.toolchains.host import HostToolchain, find_toolchain

HERE = Path(__file__).resolve().parent
INCLUDE = HERE / "include"
LIBRARIES = {"libamdhip64.so": HERE / "runtime", "libhiprtc.so": HERE / "hiprtc"}
FORWARDS = HERE.parent / "forwards.txt"
"""Headers under the names of HIP, CUDA and the C library that only include others: runtime, path, and what they include
of the runtime's own folder; nothing where the compiler has it built in."""
NAMES = HERE.parent / "host_names.txt"
"""Names of HIP's host API, each with CUDA's for the same."""
_OF_NAMES = {"cpu": ("nvidia/hip_names.h", "#define {1} {0}\n"), "cuda": ("hip/hip_names.h", "#define {0} {1}\n")}
"""The header that is made of ``NAMES`` for a runtime: its path, and a row of it."""
FLAGS = ("-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror")
_OF_CLANG = ("-O1", "-mllvm", "-inline-threshold=25")
"""Saves a third of the time over the libraries, whose C++ is no faster with more of the standard library inlined."""

_STANDARD = "-std=c++17"
"""Of the cpu runtime, which a cold run waits for: the standard headers of C++20 take half as long again to compile."""

_CPU = "x86-64-v2"
SHIPPED = DATA / "runtime"
"""Builds inside a wheel, without their headers, by the digest of their plan."""
MOST_UNITS = 8
_LOG_LINES = 12
_LOG = 64 << 10
_SCRATCH = "building-"
_ATTEMPTS = 3
MANIFEST = "manifest.json"
_SECONDS = 900.0
"""For one run of the compiler; zig builds its C++ library first, about a minute."""

_FULL = "no space left on device"
_ROOM = 4 << 20


class BuildError(RuntimeError):
    """Our own libraries do not build; the message holds the compiler's first lines."""


@dataclass(frozen=True)
class Plan:
    """What to build for ``runtime``: each library's sources (files, or folders with all their ``.cpp``).

    ``flags`` go to the compiler, and ``options`` last, which are in the key of the build too; ``linking`` goes to the
    linker, and so do ``versions``, a version script for a library; ``headers`` are further files and folders whose
    content the build depends on. ``forwards`` are headers to write, by their path.
    """

    runtime: str
    sources: Mapping[str, tuple[Path, ...]]
    flags: tuple[str, ...]
    headers: tuple[Path, ...]
    options: tuple[str, ...] = ()
    linking: tuple[str, ...] = ()
    forwards: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, Path] = field(default_factory=dict)

    def files(self, library: str) -> list[Path]:
        """The ``.cpp`` files of ``library``."""
        places = self.sources[library]
        return sorted(file for place in places for file in ([place] if place.is_file() else place.glob("*.cpp")))

    @property
    def digest(self) -> str:
        """Of all that the libraries are made from, the compiler apart."""
        inputs = [place for places in self.sources.values() for place in places]
        parts = (*FLAGS, *_OF_CLANG, _CPU, self.runtime, *self.options)
        return hashlib.sha256(
            "\0".join((*parts, content_hash(*inputs, *self.headers, *self.versions.values()))).encode()
        ).hexdigest()[:24]


def content_hash(*places: Path) -> str:
    """A hash over ``places``, files or folders with every file under them: names and bytes."""
    digest = hashlib.sha256()
    for place in places:
        root = place.parent if place.is_file() else place
        for file in [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file()):
            digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def forwarding_headers(runtime: str, include: Path) -> dict[str, str]:
    """The headers of ``FORWARDS`` and ``NAMES`` for ``runtime``, whose own headers are in ``include``: text by path."""
    headers = {}
    for owner, path, *names in map(str.split, FORWARDS.read_text(encoding="utf-8").splitlines()):
        if owner == runtime:
            # The cpu runtime's are found in its include folder, wherever that lies: its libraries, and what is compiled
            # with them, are the same for every copy of this package.
            of_ours = "<{}>" if runtime == "cpu" else f'"{include}/{{}}"'
            included = (name if name.startswith("<") else of_ours.format(name) for name in names)
            headers[path] = "#pragma once\n" + "".join(f"#include {name}\n" for name in included)
    if runtime in _OF_NAMES:
        path, row = _OF_NAMES[runtime]
        pairs = map(str.split, NAMES.read_text(encoding="utf-8").splitlines())
        headers[path] = "#pragma once\n" + "".join(row.format(*pair) for pair in pairs)
    return headers


def write_headers(headers: Mapping[str, str], folder: Path) -> None:
    """Write ``headers``, text by path, below ``folder``."""
    for path, text in headers.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def host_plan() -> Plan:
    """The cpu runtime."""
    sources = {name: (home,) for name, home in LIBRARIES.items()}
    forwards = forwarding_headers("cpu", INCLUDE)
    return Plan("cpu", sources, (f"-I{INCLUDE}",), (INCLUDE / "simt",), (_STANDARD,), forwards=forwards)


def build(plan: Plan | None = None, supervisor: Supervisor | None = None) -> Path:
    """The folder that holds both libraries of ``plan`` (default: ``host_plan()``), built now if they are not there yet.

    Processes that need a build wait for each other, a bounded time; what a build that was cut off left behind is
    removed by the next, and a damaged one is built again. Where the cache folder cannot be written, the build is kept
    in the temporary folder of ``supervisor`` (default: of the one that started this process) for as long as the run.

    Raises ``NoCompiler`` without a compiler, ``BuildError`` when the sources do not compile, and
    ``InfrastructureError`` when the machine has no room for them or the compiler does not end.
    """
    plan = plan or host_plan()
    toolchain = find_toolchain(links_standard_library=True)
    for _ in range(_ATTEMPTS):
        try:
            return _built(plan, toolchain, supervisor)
        except _Changed:
            continue
    raise BuildError(
        f"the sources of the {plan.runtime} runtime changed while they were compiled; run the command again"
    )


class _Changed(Exception):
    """A source has changed since the key of its build was taken: what was compiled may be of either."""


def _built(plan: Plan, toolchain: HostToolchain, supervisor: Supervisor | None) -> Path:
    """The folder of ``build``; raises ``_Changed`` too."""
    key = _key(plan, toolchain)
    home = cache_folder() / "runtime"
    if _is_whole(home / key):
        return home / key
    try:
        return _build_in(home, key, plan, toolchain)
    except OSError as error:
        warn(
            f"the cache folder {home} cannot be written ({error.strerror}): the {plan.runtime} runtime is built for "
            "this run alone; make room there, or name another folder in CANDLE_PARITY_CACHE"
        )
    temporary = _temporary_home(supervisor)
    try:
        return temporary / key if _is_whole(temporary / key) else _build_in(temporary, key, plan, toolchain)
    except OSError as error:
        raise InfrastructureError(
            f"the {plan.runtime} runtime cannot be built: neither {home} nor {temporary} can be written "
            f"({error.strerror}); make room in one of them, or name another folder in CANDLE_PARITY_CACHE"
        ) from error


def _key(plan: Plan, toolchain: HostToolchain) -> str:
    """The name of a build: of all that it is made from."""
    forwards = (f"{path} {text}" for path, text in plan.forwards.items())
    parts = (MANIFEST, toolchain.identity, *forwards, plan.digest)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def _temporary_home(supervisor: Supervisor | None) -> Path:
    """Where all processes of a run look; it goes with the run."""
    if supervisor is None and MARK in os.environ:  # a supervised child: TMPDIR is its supervisor's scratch
        return Path(os.environ.get("TMPDIR", tempfile.gettempdir())) / "runtime"
    return (supervisor or _own_supervisor()).scratch / "runtime"


@lru_cache(maxsize=1)
def _own_supervisor() -> Supervisor:
    """For a process that was given none: its temporary folder lives as long as the process."""
    return Supervisor()


def _is_whole(folder: Path) -> bool:
    """Whether ``folder`` is a build whose libraries are as they were written; warns of one that is damaged."""
    damage = _damage(folder)
    if damage:
        warn(f"the runtime in {folder} is damaged ({damage}): it is thrown away and built again")
    return damage == ""


def _damage(folder: Path) -> str | None:
    """What is wrong with a build, "" if nothing, ``None`` if there is none."""
    if not os.path.lexists(folder):
        return None
    try:
        digests = json.loads((folder / MANIFEST).read_text())
        for name in digests or LIBRARIES:
            if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digests[name]:
                return f"{name} is not what was written"
    except OSError as error:
        return f"{Path(error.filename or folder).name}: {error.strerror}"
    except (ValueError, KeyError, TypeError):
        return f"{MANIFEST} cannot be read"
    return ""


def _build_in(home: Path, key: str, plan: Plan, toolchain: HostToolchain) -> Path:
    """Build into ``home / key``; raises ``OSError`` where ``home`` cannot be written."""
    target = home / key
    home.mkdir(parents=True, exist_ok=True)
    with locked(home / "lock", _SECONDS) as alone:
        if _damage(target) == "":
            return target
        if alone:
            for cut_off in home.glob(f"{_SCRATCH}*"):
                shutil.rmtree(cut_off, ignore_errors=True)
        scratch = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=home))
        try:
            _compile(plan, toolchain, scratch / "new")
            if _key(plan, toolchain) != key:
                raise _Changed
            if _damage(target) == "":  # of one that did not wait for us
                return target
            if os.path.lexists(target):
                os.replace(target, scratch / "damaged")
            os.replace(scratch / "new", target)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return target


def _compile(plan: Plan, toolchain: HostToolchain, folder: Path) -> None:
    """Build every library of ``plan`` into ``folder``, with the manifest."""
    folder.mkdir(mode=0o755)
    with Supervisor() as supervisor, ThreadPoolExecutor() as pool:
        try:
            list(pool.map(lambda name: _library(plan, toolchain, folder, name, supervisor), plan.sources))
        except BaseException:
            supervisor.close()  # the other threads wait for their compilers
            raise
    write_headers(plan.forwards, folder / "include")
    write_manifest(folder, (*plan.sources, *(f"include/{path}" for path in plan.forwards)), folder / MANIFEST)


def write_manifest(folder: Path, names: Iterable[str], path: Path) -> None:
    """Write the digests of the files ``names`` of ``folder`` to ``path``."""
    path.write_text(json.dumps({name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}))


def units_of(plan: Plan, name: str, cores: int) -> list[Sequence[Path]]:
    """The files of the library ``name`` in translation units, which are compiled side by side.

    There are as many as the library's share of ``cores`` by the size of its files, and at most ``MOST_UNITS``: each
    reads the standard headers again. No unit is much larger than the others, since the largest is waited for. In a unit
    the files are in the order of their names.
    """
    sizes = {file: file.stat().st_size for file in plan.files(name)}
    everything = sum(file.stat().st_size for library in plan.sources for file in plan.files(library))
    count = max(1, min(MOST_UNITS, round(cores * sum(sizes.values()) / everything), len(sizes)))
    units: list[list[Path]] = [[] for _ in range(count)]
    totals = [0] * count
    for file in sorted(sizes, key=lambda file: (-sizes[file], file)):
        smallest = totals.index(min(totals))
        units[smallest].append(file)
        totals[smallest] += sizes[file]
    return [sorted(files) for files in units]


def unit_text(files: Sequence[Path]) -> str:
    """The translation unit of ``files``."""
    return "".join(f'#include "{file}"\n' for file in files)


def _library(plan: Plan, toolchain: HostToolchain, folder: Path, name: str, supervisor: Supervisor) -> None:
    if _damage(shipped := SHIPPED / plan.digest) == "":
        shutil.copyfile(shipped / name, folder / name)
        return
    cpu = _CPU.replace("-", "_") if toolchain.kind == "zig" else _CPU  # zig's own spelling
    level = () if toolchain.kind == "gcc" else _OF_CLANG
    command = [*toolchain.compiler, *FLAGS, *level, f"-march={cpu}", *plan.flags, *plan.options]
    units = units_of(plan, name, len(os.sched_getaffinity(0)))
    texts, codes = ([folder / f"{name}-{n}.{end}" for n in range(len(units))] for end in ("cpp", "o"))

    def compile_unit(files: Sequence[Path], text: Path, code: Path) -> None:
        text.write_text(unit_text(files))
        _run(plan.runtime, [*command, "-c", str(text), "-o", str(code)], folder, supervisor)

    with ThreadPoolExecutor() as pool:
        list(pool.map(compile_unit, units, texts, codes))
    linking = ["-shared", "-Wl,-S", f"-Wl,-soname,{name}", "-o", str(folder / name), *map(str, codes), *plan.linking]
    if name in plan.versions:
        linking.append(f"-Wl,--version-script={plan.versions[name]}")
    _run(plan.runtime, [*toolchain.compiler, *linking, "-lpthread", "-ldl"], folder, supervisor)
    for file in (*texts, *codes):
        file.unlink()


def _run(runtime: str, command: list[str], folder: Path, supervisor: Supervisor) -> None:
    """Run a compiler that writes to ``folder``; raises ``OSError`` (ENOSPC) when there is no room for that."""
    with open(os.memfd_create("messages"), "rb") as file:  # a full disk must not swallow the messages
        child = supervisor.start(command, stdout=file.fileno(), stderr=file.fileno())
        try:
            code = child.wait(_SECONDS)
        finally:
            child.kill()
        file.seek(0)
        log = file.read(_LOG).decode(errors="replace")
    if code == 0:
        return
    if code is None:
        raise InfrastructureError(f"the {runtime} runtime is not built: {command[0]} was stopped after {_SECONDS:g} s")
    if _FULL in log.lower() or not has_room(folder, _ROOM):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
    shown = "\n".join(log.splitlines()[:_LOG_LINES]) or child.ended_how()
    raise BuildError(f"the {runtime} runtime does not build with {command[0]}: {shown}")
