"""``candle-parity compare``: judge two commits of a port, and show what became better and worse.

Both are judged as ``run`` would judge a checkout in this folder: paths below the repository mean files of the commit,
others are the same for both. Neither the work tree nor the index is touched.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from conformance.cache import locked
from conformance.cli.ending import ended, sentence
from conformance.cli.usage import OVER_CASES, CommandParser, take_patterns
from conformance.commit_files import write_files
from conformance.errors import UsageError
from conformance.files import CACHE, cache_folder, in_own_checkout, kernels_folder, own_python
from conformance.option import OUTPUT, STDOUT, json_file
from conformance.record import Record, read_record, write_record, write_text
from conformance.record.commits import SHOWN, trusted
from conformance.record.compare import Comparison, compare
from conformance.report.comparison import comparison_json, render_comparison
from conformance.repository import Repository, RepositoryError, TooLarge, repository_of
from conformance.session.gate import MET, NOT_MET
from conformance.settings import Session, Settings
from conformance.text import counted, one_line, some

NO_VERDICT = 125
"""The exit code by which ``git bisect run`` skips a commit: one that cannot be judged is neither good nor bad."""

EXAMPLES = (
    ("candle-parity compare v1 HEAD --kernels src/kernels", "what has changed since a tag"),
    ("candle-parity compare main topic 'u*_f16' --module unary", "some kernels of two branches"),
    ("candle-parity compare v1 HEAD 'uexp_*'", "behind `git bisect run`: finds the commit that made one of them worse"),
)
EXIT_CODES = (
    f"0 nothing became worse; 1 something did; {NO_VERDICT} a commit cannot be judged (git bisect skips it); "
    "2 bad usage or bad input"
)

_NAMED = 3


def options(parser: CommandParser) -> None:
    parser.description = (
        "Judges two commits of a port's repository, as run would judge a checkout of each in this folder, and prints "
        "what differs. Neither the work tree nor the index is touched."
    )
    parser.add_argument("old", metavar="OLD", help="a commit of the port's repository: v1, main~3, a hash")
    parser.add_argument("new", metavar="NEW", help="another one, which is judged against it: HEAD")
    take_patterns(parser, OVER_CASES)
    parser.group(OUTPUT).add_argument(
        "--json", type=json_file, metavar="F", help="write the comparison as JSON; - is standard output"
    )


def command(arguments: argparse.Namespace) -> int:
    repository = repository_of(Path())
    if repository is None:
        raise UsageError("compare: this folder is in no git repository; go to the one of the port")
    _check_owner(repository)
    top = repository.top.resolve()
    kernels = _settings(arguments, top).kernels
    if kernels is not None and not Path(os.path.normpath(kernels.absolute())).is_relative_to(top):
        raise UsageError(f"compare: --kernels {kernels} lies outside of {top}; give a path in the port's repository")
    commits = {name: _commit(repository, name) for name in dict.fromkeys((arguments.old, arguments.new))}
    records = {}
    with _folder(repository) as folder:
        if folder is None:
            print(f"candle-parity: another process compares commits of {one_line(str(top))}", file=sys.stderr)
            return NO_VERDICT
        for name, commit in commits.items():
            print(f"candle-parity: judging {one_line(name)} ({commit[:SHOWN]})", flush=True)
            record = _judged(repository, commit, folder, arguments)
            if record is None:
                print(f"candle-parity: {one_line(name)} cannot be judged; what is above says why", file=sys.stderr)
                return NO_VERDICT
            records[name] = record
    comparison = compare(records[arguments.old], records[arguments.new])
    names = [f"{name} ({commits[name][:SHOWN]})" for name in (arguments.old, arguments.new)]
    if arguments.json is not None:
        write_text(arguments.json, comparison_json(comparison, names[0], names[1]))
    print(f"\n{render_comparison(comparison, names[0], names[1])}")
    return _exit_code(comparison, *names)


def _check_owner(repository: Repository) -> None:
    """Say it where git would not read the repository for this user, because it belongs to somebody else.

    Its objects are data, of which nothing is run, so a checkout of one other user, as it is mounted into a container,
    is read all the same. Raises ``UsageError`` where the working folder is not that user's: a ``.git`` above it that
    somebody else has put there says nothing of the files here.
    """
    try:
        refusal = repository.refusal()
    except RepositoryError as error:
        raise UsageError(f"compare: {error}") from None
    if refusal is None:
        return
    if not trusted(Path(), repository):
        remedy = f"`git config --global --add safe.directory {shlex.quote(str(repository.top))}` says that you trust it"
        raise UsageError(f"compare: {refusal}, and this folder is not its owner's; {remedy}")
    print(
        f"candle-parity: {one_line(refusal)}, and git itself refuses it; its objects are read all the same, and "
        "nothing that it names is run (SECURITY.md)",
        file=sys.stderr,
    )


def _exit_code(comparison: Comparison, old: str, new: str) -> int:
    """1 where anything became worse. That a kernel has no verdict any more is neither better nor worse."""
    parts = comparison.parts.values()
    if any(changed.worse for changed in parts):
        return NOT_MET
    lost = [name for changed in parts for name in changed.unjudged]
    if lost:
        what = f"{some(lost, _NAMED)}: judged at {old}, without a verdict at {new}"
        print(f"candle-parity: {one_line(what)}; nothing else is worse", file=sys.stderr)
        return NO_VERDICT
    if not any(changed.compared for changed in parts):
        print("candle-parity: there is no kernel with a verdict at both commits", file=sys.stderr)
        return NO_VERDICT
    return MET


def _commit(repository: Repository, name: str) -> str:
    try:
        commit = repository.commit_named(name)
    except RepositoryError as error:
        raise UsageError(f"compare: {error}") from None
    if commit is None:
        raise UsageError(f"compare: {name!r} is no commit of {repository.top}; `git log --all` lists them")
    return commit


@contextmanager
def _folder(repository: Repository) -> Iterator[Path | None]:
    """An empty folder for the files of one commit after the other, the same for a repository each time: an object whose
    compiler has read a header there is found again. ``None`` while another process uses it."""
    top = repository.top.resolve()
    place = cache_folder().absolute() / "compare" / sha256(os.fsencode(top)).hexdigest()[:16]
    place.parent.mkdir(parents=True, exist_ok=True)
    with locked(place.with_suffix(".lock"), 0.0) as ours:
        if not ours:
            yield None
            return
        try:
            yield place / (top.name or "repository")
        finally:
            shutil.rmtree(place, ignore_errors=True)


def _judged(repository: Repository, commit: str, folder: Path, arguments: argparse.Namespace) -> Record | None:
    """The record of ``commit``, whose files are written to ``folder``; ``None`` where there is none, and the reason is
    on standard error."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        for text in write_files(repository, commit, folder).sentences():
            print(f"candle-parity: {commit[:SHOWN]}: {one_line(text)}", file=sys.stderr)
    except TooLarge as error:  # other commits of the repository are too, as a rule
        raise UsageError(f"compare: {error}") from None
    except (RepositoryError, OSError) as error:  # such as a name that is too long here
        print(f"candle-parity: {one_line(sentence(error))}", file=sys.stderr)
        return None
    here = folder / Path.cwd().relative_to(repository.top.resolve())
    if not here.is_dir():
        print(f"candle-parity: {commit[:SHOWN]} has no folder {here.relative_to(folder)}", file=sys.stderr)
        return None
    file = folder.with_name("record.json")
    file.unlink(missing_ok=True)
    args = [str(file), str(folder), commit, *_args_of(repository.top.resolve(), folder, arguments)]
    program = own_python(f"from {__name__} import judge_here; sys.exit(judge_here(sys.argv[1:]))")
    # Standard output is for the comparison alone where that is written to it.
    output = sys.stderr.fileno() if arguments.json == STDOUT else None
    environment = {**os.environ, CACHE: str(cache_folder().absolute())}
    done = subprocess.run([*program, *args], cwd=here, env=environment, stdout=output, check=False)
    return read_record(file) if done.returncode == 0 and file.exists() else None


def _args_of(top: Path, folder: Path, arguments: argparse.Namespace) -> list[str]:
    """The command line of ``run`` for what ``arguments`` ask for; paths below ``top`` are paths below ``folder``."""
    settings, session = _settings(arguments, top), Session.of(vars(arguments))
    args = ["run"]
    for options, rows in ((settings, Settings.rows()), (session, Session.rows())):
        for row in rows:
            value = getattr(options, row.name) if arguments.command in row.commands else row.default
            if isinstance(value, Path):
                value = _moved(value, top, folder)
            elif isinstance(value, tuple) and value and isinstance(value[0], Path):
                value = tuple(_moved(one, top, folder) for one in value)
            args += row.args(value)
    return [*args, *arguments.patterns]


def _settings(arguments: argparse.Namespace, top: Path) -> Settings:
    settings = Settings.of(vars(arguments))
    if settings.kernels is None and in_own_checkout() and top == kernels_folder().parent:
        return replace(settings, kernels=kernels_folder())
    return settings


def _moved(path: Path, top: Path, folder: Path) -> Path:
    """``path`` in ``folder`` where it lies below ``top``. A relative one stays, for the working folder is moved as
    well, unless it leads out of the repository."""
    whole = Path(os.path.normpath(path.absolute()))
    if whole.is_relative_to(top):
        return path if not path.is_absolute() else folder / whole.relative_to(top)
    return whole


def judge_here(args: Sequence[str]) -> int:
    """Judge one of the two commits, in the process that ``command`` starts for it.

    The first three ``args`` are the file for the record, the folder in which the kernels have to lie, and the commit
    whose files are there. The command line follows. Returns 0 where there is a record.
    """
    from conformance.cli.main import parse
    from conformance.cli.progress import display
    from conformance.engine.run import run
    from conformance.record.assemble import assemble
    from conformance.report.terminal import verdict_line
    from conformance.session.prepared import prepare
    from conformance.session.selection import print_left_out
    from conformance.session.setup import jobs_for

    def judge() -> int:
        file, folder, commit, *rest = args
        arguments = parse(rest)
        asked = prepare(replace(Settings.of(vars(arguments)), reuse=True), arguments.patterns, arguments.module)
        path = asked.mode.tree.path.resolve()
        if not path.is_relative_to(Path(folder).resolve()):
            raise UsageError(
                f"{path}: lies outside of the repository, so that both commits have the same kernels; give --kernels "
                'PATH in the repository, or kernels = "PATH" in its candle-parity.toml'
            )
        print_left_out(asked.left_out)
        with display() as shown:
            jobs = jobs_for(arguments.jobs, asked.setup, len(asked.kernels))
            result = run(asked.setup, asked.mode, asked.kernels, asked.cases, jobs, shown.progress)
        record = assemble(asked.specs, result, arguments.patterns)
        record = record.model_copy(update={"run": record.run.model_copy(update={"git": commit[:SHOWN]})})
        write_record(record, Path(file))
        kept = f"; {counted(record.run.kept, 'kernel')} not run again: the code is the same" if record.run.kept else ""
        print(f"{verdict_line(record, asked.specs)}{kept}")
        return MET

    return ended(judge)
