"""The parser of the command line, and completion in the shell."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import textwrap
from collections.abc import Iterable
from copy import copy
from typing import Any, NoReturn

from conformance.errors import UsageError
from conformance.files import documentation
from conformance.option import GROUPS

PATTERNS = (
    "A pattern over cases is KERNEL(field=value;...;*): KERNEL is a glob, * and ? in a value match any text, fields "
    "are separated by ; or , in any order, and a last * stands for all other fields; without it there are no others. "
    "It selects among the cases that have a part in the verdict, where one matches; `list --cases` prints them."
)
MOST_EXITS = "0 done; 2 bad usage or bad input, said in one sentence"
"""The exit codes of a command that has no ``EXIT_CODES``."""

OVER_KERNELS = "a kernel glob (u*_f32) or a full case id"
OVER_CASES = "a kernel glob (u*_f32), a full case id, or a pattern over cases (uexp_*(layout=transposed;*))"


class _Paragraphs(argparse.HelpFormatter):
    """Descriptions and epilogs in paragraphs: one whose lines are indented is kept as it is, another is filled."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        filled = (
            part if part.startswith("  ") else textwrap.fill(part, width, break_on_hyphens=False)
            for part in text.split("\n\n")
        )
        return textwrap.indent("\n\n".join(filled), indent)


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors are one sentence, which names the option or command that may have been meant.

    Its help has a description, options in groups, examples, exit codes, and the place of the documentation.
    """

    def __init__(self, **about: Any) -> None:
        super().__init__(formatter_class=_Paragraphs, **about)
        self._groups: dict[str, argparse._ArgumentGroup] = {}

    def group(self, title: str) -> argparse._ArgumentGroup:
        """The group of options below the heading ``title``, one of ``GROUPS``, in whose order ``--help`` has them."""
        if not self._groups:
            self._groups = {known: self.add_argument_group(known) for known in GROUPS}
        return self._groups[title]

    def format_help(self) -> str:
        where = documentation()
        parts = [self.epilog, f"Documentation: {where}" if where else None]
        shown = copy(self)
        shown.usage = self.usage_line().replace("%", "%%")
        shown.epilog = "\n\n".join(part.replace("%", "%%") for part in parts if part)
        return argparse.ArgumentParser.format_help(shown)

    def usage_line(self) -> str:
        """The usage in one line: ``candle-parity run [OPTION...] [PATTERN...]``. The options are listed below it."""
        parts = [self.prog, "[OPTION...]"]
        for action in self._actions:
            name = action.metavar or action.dest
            if isinstance(action, argparse._SubParsersAction):
                parts.append(f"{name} ...")
            elif action.option_strings and action.required:
                parts.append(f"{action.option_strings[-1]} {name}")
            elif not action.option_strings:
                one = f"{{{','.join(map(str, action.choices))}}}" if action.choices else str(name)
                parts.append({"*": f"[{one}...]", "+": f"{one}...", "?": f"[{one}]"}.get(str(action.nargs), one))
        return " ".join(parts)

    def close(self, examples: Iterable[tuple[str, str]], exit_codes: str) -> None:
        """Add what stands below the options: ``examples`` (a command, and what it is for), and the exit codes."""
        parts = [self.epilog] if self.epilog else []
        lines = [f"  {command}\n      {what}" for command, what in examples]
        parts += ["Examples:", "\n".join(lines)] if lines else []
        parts.append(f"Exit codes: {exit_codes}.")
        self.epilog = "\n\n".join(parts)

    def error(self, message: str) -> NoReturn:
        """Raises ``UsageError``."""
        invalid = re.search(r"invalid choice: '(?P<word>[^']*)' \(choose from (?P<choices>.*)\)", message)
        hint = "" if invalid is None else meant(invalid["word"], re.findall(r"[\w-]+", invalid["choices"]))
        raise UsageError(f"{message}{hint}; `{self.prog} --help` lists what there is")

    def of(self, command: str) -> CommandParser:
        """The parser of ``command``."""
        (commands,) = (action for action in self._actions if isinstance(action, argparse._SubParsersAction))
        parser: CommandParser = commands.choices[command]
        return parser

    def unknown(self, args: list[str]) -> NoReturn:
        """Raises ``UsageError`` for ``args`` that the parser does not know, with the option that may have been
        meant."""
        options = [option for option in self._option_string_actions if option.startswith("--")]
        first = next((word for word in args if word.startswith("-")), args[0])
        self.error(f"unrecognized arguments: {' '.join(args)}{meant(first.split('=')[0], options)}")


def meant(word: str, known: list[str]) -> str:
    """The text ``; did you mean WORD?`` for the one of ``known`` that is like ``word``; "" where none is."""
    near = difflib.get_close_matches(word.lower(), known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def completing() -> list[str] | None:
    """The words after the program's name, if a shell is asking for completions; else ``None``."""
    if "_ARGCOMPLETE" not in os.environ:
        return None
    return os.environ.get("COMP_LINE", "").split()[1:]


def complete(parser: argparse.ArgumentParser) -> None:
    """If a shell is asking for completions, answer and exit, through argcomplete if it is installed."""
    if completing() is None:
        return
    try:
        import argcomplete
    except ImportError:
        return
    argcomplete.autocomplete(parser)


def kernel_names(prefix: str, **_: object) -> Iterable[str]:
    """The completions of a PATTERN: kernels that begin with ``prefix``."""
    from conformance.spec.load import load_specs

    return [name for name in load_specs().kernels if name.startswith(prefix)]


def module_names(**_: object) -> Iterable[str]:
    """The completions of ``--module``: every module of the specs."""
    from conformance.files import spec_folder

    return sorted(path.stem for path in spec_folder().glob("*.yaml"))


def take_patterns(parser: CommandParser, about: str) -> None:
    """Add the arguments PATTERN to ``parser``; ``about`` is their help."""
    action = parser.add_argument("patterns", nargs="*", default=[], metavar="PATTERN", help=about)
    setattr(action, "completer", kernel_names)  # noqa: B010 (argcomplete's attribute)
    parser.epilog = PATTERNS if about == OVER_CASES else None
