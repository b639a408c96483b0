"""Runs a C++ preprocessor over one source, with empty headers for those of compilers and vendors; its tokens."""

from __future__ import annotations

import re
import resource
import subprocess
import tempfile
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from conformance.errors import UserError
from conformance.port.definitions.source_text import MOST, ScanError, includes, read_source
from conformance.port.definitions.special_files import refuse_special_files
from conformance.reading import read_bytes
from conformance.toolchains.host import HostToolchain, NoCompiler, find_toolchain

CUDA_DEFINES = ("__CUDACC__", "__NVCC__", "__CUDA_ARCH__=1000", "CUDA_VERSION=13000")
"""A device pass of nvcc for an architecture that passes every guard of the form ``__CUDA_ARCH__ >= N``."""

HIP_DEFINES = ("__HIPCC__", "__HIP__", "__HIP_PLATFORM_AMD__", "__HIP_DEVICE_COMPILE__", "HIP_VERSION=70000000")
"""A device pass of hipcc. ``__CUDA_ARCH__`` is undefined, as there: kernels behind such a guard do not exist."""

_VENDOR = re.compile(
    r"^(cuda|hip|rocm|roc[a-z]+/|cub/|hipcub/|thrust/|mma\.h|cooperative_groups|device_|math_|driver_)"
)
OPENING, CLOSING = ("(", "[", "{", "[["), (")", "]", "}", "]]")
_COMPLAINT = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<what>.*)$", re.MULTILINE)
_SECONDS = 30
_OUTPUT, _MEMORY = 16 << 20, 4 << 30
"""Bytes that a preprocessor may write, of which each is read here, and take of memory."""


@dataclass(frozen=True)
class Preprocessed:
    """A preprocessed source with its line markers.

    ``counts_raw`` is false where the preprocessor does not count the newlines inside raw strings, as clang's does not.
    """

    text: str
    counts_raw: bool


def preprocess(
    path: Path,
    include_dirs: Sequence[Path] = (),
    defines: Sequence[str] = (),
    forced: Sequence[Path] = (),
    undefines: Sequence[str] = (),
    std: str | None = None,
) -> Preprocessed:
    """The source ``path`` after the preprocessor.

    ``defines`` are ``NAME`` or ``NAME=VALUE``; ``undefines`` come after them. ``forced`` are headers that are included
    before the first line, and relative ones are looked for as those in angle brackets. A header in angle brackets that
    is in none of ``include_dirs`` counts as empty, and so does one in quotes that is named as one of a vendor's or of
    the C library.

    Raises ``ScanError`` for a file that cannot be read, a missing header, ``#error``, and every other error of the
    preprocessor.
    """
    refuse_special_files(path, include_dirs, forced)
    with tempfile.TemporaryDirectory(prefix="candle-parity-") as folder:
        stubs = Path(folder)
        files = [header for header in forced if header.is_absolute()]
        files += [folder / name for name in forced for folder in include_dirs if (folder / name).is_file()]
        for name in (*_absent([path, *files], include_dirs), *(str(name) for name in forced if not name.is_absolute())):
            stub = stubs / name
            with suppress(OSError):  # a name too long, or a folder where another is a header: left to the compiler
                stub.parent.mkdir(parents=True, exist_ok=True)
                stub.touch()
        command = [
            *_compiler(path).compiler,
            "-x",
            "c++",
            f"-std={std or 'c++17'}",
            "-E",
            "-w",
            "-nostdinc",
            "-nostdinc++",
        ]
        command += [f"-D{define}" for define in defines] + [f"-U{name}" for name in undefines]
        command += [argument for header in forced for argument in ("-include", str(header))]
        command += [f"-I{directory}" for directory in (*include_dirs, stubs)]
        code, out, complaints = _run(path, command)
    if code != 0:
        raise _complaint(path, complaints)
    return Preprocessed(out, _compiler(path).kind == "gcc")


def _run(path: Path, command: Sequence[str]) -> tuple[int, str, str]:
    """Exit code, output and complaints of a preprocessor that may neither run nor write nor grow for ever."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as complaints:
        try:
            process = subprocess.Popen(
                # Bytes: a macro may hold characters that the locale lacks.
                [argument.encode("utf-8", "surrogateescape") for argument in (*command, str(path))],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=complaints,
            )
        except OSError as cause:
            raise ScanError(path, None, f"the preprocessor {command[0]} cannot be started ({cause})") from None
        with process:
            try:
                for limit, most in ((resource.RLIMIT_FSIZE, _OUTPUT), (resource.RLIMIT_DATA, _MEMORY)):
                    with suppress(OSError):  # it has ended already
                        resource.prlimit(process.pid, limit, (most, most))
                code = process.wait(_SECONDS)
            except subprocess.TimeoutExpired:
                raise ScanError(path, None, f"the preprocessor {command[0]} did not finish in {_SECONDS} s") from None
            finally:
                process.kill()
        # Whatever the locale; names of files keep the bytes that are not text.
        return code, _text(out), _text(complaints)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "surrogateescape")


@cache
def _toolchain() -> HostToolchain:
    return find_toolchain(links_standard_library=False)


def check_preprocessor() -> None:
    """Raises ``NoPreprocessor`` where no compiler is there whose preprocessor can read a source."""
    try:
        _toolchain()
    except NoCompiler as cause:
        raise NoPreprocessor(
            "sources cannot be read: macros and #if decide which kernels a source defines, so that a C++ preprocessor "
            f"has to expand them, and {cause}"
        ) from None


class NoPreprocessor(UserError):
    """No compiler is installed, or the one that was named cannot be run."""


def _compiler(path: Path) -> HostToolchain:
    try:
        return _toolchain()
    except NoCompiler as cause:
        raise ScanError(path, None, f"cannot be preprocessed: {cause}") from None


def _complaint(path: Path, stderr: str) -> ScanError:
    complaint = _COMPLAINT.search(stderr)
    if complaint is None:
        lines = stderr.strip().splitlines()
        return ScanError(path, None, f"the preprocessor failed: {lines[0] if lines else 'without a message'}")
    what = complaint["what"]
    remedy = "; give its folder as an include directory" if "not found" in what or "No such file" in what else ""
    return ScanError(complaint["file"], int(complaint["line"]), f"{what}{remedy}")


def _absent(sources: Sequence[Path], include_dirs: Sequence[Path]) -> Iterator[str]:
    """The names of headers that the sources include, directly or not, and that may be replaced."""

    def read(path: Path) -> str:
        return read_source(path) if path in sources else _header(path)

    for include in includes(sources, include_dirs, read, first=True):
        name = include.name
        if name is not None and not include.found and (include.angled or _is_foreign(name)) and _is_plain(name):
            yield name


def _header(path: Path) -> str:
    try:
        return read_bytes(path, MOST).decode("utf-8", "replace")
    except OSError as cause:
        raise ScanError(path, None, f"cannot be read ({cause.strerror})") from None


def _is_foreign(name: str) -> bool:
    return (
        bool(_VENDOR.match(name))
        or re.fullmatch(r"std\w+\.h|c?(math|assert|float|limits|string)(\.h)?", name) is not None
    )


def _is_plain(name: str) -> bool:
    """Whether a file of this name would lie inside the folder it is made in."""
    parts = PurePosixPath(name).parts
    return bool(parts) and not PurePosixPath(name).is_absolute() and ".." not in parts


# Strings first: a brace or a quote inside one is not a token. Directives are whole lines; the markers among them are
# `# LINE "FILE" FLAGS`, and the others (pragmas) have no part in a declaration.
_TOKEN = re.compile(
    r"""
      (?P<newline>\n)
    | (?P<directive>(?m:^)[ \t]*\#[^\n]*)
    | (?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)")
    | (?P<quoted>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"|(?:u8|[uUL])?'(?:[^'\\\n]|\\.)*')
    | (?P<word>[A-Za-z_$][\w$]*)
    | (?P<number>\.?[0-9](?:'?[\w.]|(?<=[eEpP])[+-])*)
    | (?P<sign>::|->|\[\[|\]\]|[^\s\w])
    """,
    re.VERBOSE | re.DOTALL,
)
_MARKER = re.compile(r'\s*#\s*(?:line\s+)?(\d+)(?:\s+"((?:[^"\\]|\\.)*)")?')


class Token(NamedTuple):
    """A token of a source. ``line`` counts from 1 in ``file``, which is spelled as in the line markers."""

    text: str
    file: str
    line: int

    @property
    def is_word(self) -> bool:
        """Whether it is an identifier or a keyword."""
        return is_word(self.text)


def tokenize(text: str, file: str, counts_raw: bool = True) -> list[Token]:
    """The tokens of ``text``, which begins on line 1 of ``file``. Line markers in it change the place.

    ``counts_raw`` says whether these markers count the newlines inside raw strings.
    """
    tokens: list[Token] = []
    line = 1
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "newline":
            line += 1
        elif kind == "directive":
            marker = _MARKER.match(match[0])
            if marker is not None:
                # The marker names the line that follows its own.
                line = int(marker[1]) - 1
                file = marker[2].replace("\\\\", "\\").replace('\\"', '"') if marker[2] is not None else file
        else:
            tokens.append(Token(match[0], file, line))
            line += match[0].count("\n") if kind == "raw" and counts_raw else 0
    return tokens


def outer(
    tokens: Sequence[str], opening: Container[str] = OPENING, past: Callable[[Sequence[str], int], int] | None = None
) -> list[str]:
    """``tokens`` without what is in brackets. The brackets are those of ``opening``; ``past`` finds the end of one, by
    default ``behind``."""
    result: list[str] = []
    at = 0
    while at < len(tokens):
        if tokens[at] in opening:
            at = (past or behind)(tokens, at)
        else:
            result.append(tokens[at])
            at += 1
    return result


def behind(tokens: Sequence[str], at: int) -> int:
    """The position after the bracket that closes the one at position ``at``. A doubled bracket (``[[``) counts as
    two."""
    depth = 0
    for position in range(at, len(tokens)):
        token = tokens[position]
        depth += len(token) * ((token in OPENING) - (token in CLOSING))
        if depth <= 0:
            return position + 1
    return len(tokens)


def is_word(text: str) -> bool:
    """Whether a token is an identifier or a keyword."""
    return text[0].isalpha() or text[0] in "_$"
