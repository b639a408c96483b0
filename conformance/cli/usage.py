"""The parser of the command line, and completion in the shell."""

from __future__ import annotations

import argparse
import difflib
import os
import re
from collections.abc import Iterable
from typing import NoReturn

from conformance.errors import UsageError

PATTERNS = (
    "A pattern over cases is KERNEL(field=value;...;*): KERNEL is a glob, * and ? in a value match any text, fields "
    "are separated by ; or , in any order, and a last * stands for all other fields; without it there are no others. "
    "It selects among the cases that have a part in the verdict, where one matches; `list --cases` prints them."
)
OVER_KERNELS = "a kernel glob (u*_f32) or a full case id"
OVER_CASES = "a kernel glob (u*_f32), a full case id, or a pattern over cases (uexp_*(layout=transposed;*))"


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors are one sentence, with the option or command that may have been meant."""

    def error(self, message: str) -> NoReturn:
        """Raises ``UsageError``."""
        found = re.search(r"invalid choice: '(?P<word>[^']*)' \(choose from (?P<choices>.*)\)", message)
        hint = "" if found is None else meant(found["word"], re.findall(r"[\w-]+", found["choices"]))
        raise UsageError(f"{message}{hint}; `{self.prog} --help` lists what there is")

    def of(self, command: str) -> CommandParser:
        """The parser of ``command``."""
        (commands,) = (action for action in self._actions if isinstance(action, argparse._SubParsersAction))
        found: CommandParser = commands.choices[command]
        return found

    def unknown(self, words: list[str]) -> NoReturn:
        """Raises ``UsageError`` for options that the parser does not have."""
        options = [option for option in self._option_string_actions if option.startswith("--")]
        first = next((word for word in words if word.startswith("-")), words[0])
        self.error(f"unrecognized arguments: {' '.join(words)}{meant(first.split('=')[0], options)}")


def meant(word: str, known: list[str]) -> str:
    """``; did you mean WORD?`` with the word of ``known`` that is like ``word``, or nothing."""
    near = difflib.get_close_matches(word.lower(), known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def completing() -> bool:
    """Whether a shell asks for completions."""
    return "_ARGCOMPLETE" in os.environ


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer and exit where a shell asks for completions, through argcomplete where it is installed."""
    if not completing():
        return
    try:
        import argcomplete
    except ImportError:
        return
    argcomplete.autocomplete(parser)


def kernel_names(prefix: str, **_: object) -> Iterable[str]:
    """Completions of a PATTERN."""
    from conformance.spec.load import load_specs

    return [name for name in load_specs().kernels if name.startswith(prefix)]


def module_names(**_: object) -> Iterable[str]:
    """Completions of ``--module``."""
    from conformance.files import spec_folder

    return sorted(path.stem for path in spec_folder().glob("*.yaml"))


def take_patterns(parser: CommandParser, about: str) -> None:
    """Add the PATTERN arguments to ``parser``; ``about`` says what they may be."""
    action = parser.add_argument("patterns", nargs="*", metavar="PATTERN", help=about)
    setattr(action, "completer", kernel_names)  # noqa: B010 (argcomplete's attribute)
    parser.epilog = PATTERNS if about == OVER_CASES else None
