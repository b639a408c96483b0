"""``candle-parity completion``: print what makes a shell complete commands, options and kernels.

They go into the shell's start-up file, or are read at once: ``eval "$(candle-parity completion bash)"``.
"""

from __future__ import annotations

import argparse

from conformance.cli.usage import CommandParser
from conformance.extras import missing

SHELLS = ("bash", "zsh", "fish")

# The script calls compdef, which zsh has only after compinit. Many .zshrc call it, some later than this. The first line
# (#compdef) has to stay first for a folder of $fpath.
_HAS_COMPDEF = "(( ${+functions[compdef]} )) || { autoload -Uz compinit && compinit -i; }"

EXAMPLES = (
    ('eval "$(candle-parity completion bash)"', "for this shell; in ~/.bashrc for every one"),
    ('eval "$(candle-parity completion zsh)"', "the same for zsh, in ~/.zshrc"),
    ("candle-parity completion fish | source", "the same for fish"),
)


def options(parser: CommandParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell that reads them")


def command(arguments: argparse.Namespace) -> int:
    try:
        import argcomplete
    except ModuleNotFoundError as error:
        raise missing(error, "completion") or error from None
    lines = argcomplete.shellcode(["candle-parity"], shell=arguments.shell)
    if arguments.shell == "zsh":
        lines = lines.replace("\n", f"\n{_HAS_COMPDEF}\n", 1)
    print(lines)
    return 0
