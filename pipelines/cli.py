"""The command line: argv to one command, its result to stdout, every error to one line and an exit code."""

import argparse
import importlib
import json
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from pipelines.commands.options import Options
from pipelines.config.setting_values import SHOWN
from pipelines.errors import ExitCode, NodeError, WalkfoldError
from pipelines.execution.interrupts import heard
from pipelines.record.redaction import current
from pipelines.viewing.streams import UnheardError, written

LONGEST = 2 * SHOWN  # characters of an argument that an error repeats whole
COMMANDS = {
    "run": "one fold end to end (fold=0; fold=all or fold=0,2 for several); prints the report's path",
    "sweep": "only the sweep of a fold (fold=0); prints the best of each strategy",
    "train": "only the models of a fold, chosen on its validation rows",
    "evaluate": "every model of a fold on its test rows, without the report",
    "plan": "what would run, what is cached, and why; on which workers; without running anything",
    "refresh": "the scheduled job: new files → validated, published feature set; --rollback, --install at=06:30",
    "promote": "marks a model of a run as current: pipeline promote RUN MODEL [fold=0]; --anyway reason=…",
    "score": "the promoted model's target position for the newest published bar",
    "graph": "the flow, drawn",
    "runs": "records of past runs; `pipeline runs RUN` shows one, `pipeline runs RUN OTHER` compares two",
    "clean": "the store's size by node; budget=20GB evicts what was used least recently",
    "doctor": "this machine: GPUs, versions, where nodes would run and why",
    "sample": "writes the sample data set: pipeline sample DIR [edge=real|power|0] [seed=7]",
}

OWN_FLAGS = {
    "--calibrate": ("doctor", "measure this machine for executor=auto"),
    "--fallbacks": ("runs", "why sweeps fell back to the CPU, counted"),
    "--dry-run": ("clean", "say what would be removed"),
    "--install": ("refresh", "print a systemd user timer and a cron line; to=systemd writes the timer"),
    "--rollback": ("refresh", "make the set published before the current one again"),
    "--anyway": ("promote", "also a model that does not beat flat; needs reason=…"),
}
OWN_VALUES = {
    "--reproduce": ("run", "RUN", "rerun a recorded run and compare every artefact"),
    "--svg": ("graph", "FILE", "draw it to a file"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (see pipelines.errors.ExitCode)."""
    with written():
        options = _parse(sys.argv[1:] if arguments is None else arguments)
        with heard(to_the_end=arguments is None):
            return _run(options)


def _run(options: Options) -> int:
    try:
        command = importlib.import_module(f"pipelines.commands.{options.command}")
        code = int(command.execute(options))
        sys.stdout.flush()
        return code
    except UnheardError as error:
        # the reader of our output went away (`pipeline runs | head`): nothing to report and nowhere to report it
        return int(ExitCode.DONE) if error.gone else _fail(options, str(error), error.exit_code)
    except KeyboardInterrupt:
        return _fail(
            options, "interrupted: what was finished stays in the store; run again to go on", ExitCode.INTERRUPTED
        )
    except WalkfoldError as error:
        if options.debug:
            sys.stderr.write(current().text(traceback.format_exc()))
            if isinstance(error, NodeError):
                sys.stderr.write(current().text(error.trace))
        said = "".join(f"\n  {line}" for line in error.log) if isinstance(error, NodeError) else ""
        return _fail(options, str(error), error.exit_code, said)
    except Exception as error:
        if options.debug:
            sys.stderr.write(current().text(traceback.format_exc()))
        hint = "" if options.debug else " (--debug shows where)"
        return _fail(options, f"{type(error).__name__}: {error}{hint}", ExitCode.NODE_FAILED)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors can be read, whatever was given."""

    def parse_intermixed_args(self, args: Sequence[str], namespace: None = None) -> argparse.Namespace:  # type: ignore[override]
        """Parse, and remember the words for the error."""
        self.words = args
        return super().parse_intermixed_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """End with the usage and a message."""
        super().error(shortened(message, self.words))


def _parser() -> argparse.ArgumentParser:
    lines = "\n".join(f"  {name:<8} {text}" for name, text in COMMANDS.items())
    parser = _Parser(
        prog="pipeline",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="pipeline COMMAND [key=value ...] [options]",
        description=f"Futures data to honestly evaluated models, as one dataflow graph.\n\ncommands:\n{lines}",
        epilog="Any configuration value can be overridden: pipeline run fold=0 sweep.grid.fast=5:50:5 cluster=serial",
    )
    parser.add_argument("command", help=argparse.SUPPRESS)
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--debug", action="store_true", help="full tracebacks")
    for flag, (owner, text) in OWN_FLAGS.items():
        parser.add_argument(flag, action="store_true", help=f"{owner}: {text}")
    for flag, (owner, value, text) in OWN_VALUES.items():
        parser.add_argument(flag, metavar=value, default="", help=f"{owner}: {text}")
    parser.add_argument("--config", type=Path, help="a YAML file instead of configs/default.yaml")
    return parser


def _parse(arguments: Sequence[str]) -> Options:
    parser = _parser()
    if not arguments:
        parser.print_help(sys.stderr)
        parser.exit(ExitCode.USAGE)
    known = parser.parse_intermixed_args(arguments)
    if known.command not in COMMANDS:
        from pipelines.config.configuration import nearest

        text = f"pipeline: unknown command {known.command!r}: {nearest(known.command, COMMANDS)}\n"
        parser.exit(ExitCode.USAGE, shortened(text, arguments))
    own = {flag.strip("-").replace("-", "_"): (flag, owner) for flag, (owner, *_) in {**OWN_FLAGS, **OWN_VALUES}.items()}
    for name, (flag, owner) in own.items():
        if getattr(known, name) and known.command != owner:
            parser.exit(ExitCode.USAGE, f"pipeline: {flag} belongs to `pipeline {owner}`\n")
    flags = {name: bool(getattr(known, name)) for name, (flag, _) in own.items() if flag in OWN_FLAGS}
    return Options(
        known.command, tuple(known.words), known.json, known.quiet, known.debug, known.config, **flags,
        reproduce=known.reproduce, svg=Path(known.svg) if known.svg else None,
    )  # fmt: skip


def _fail(options: Options, message: str, code: ExitCode, said: str = "") -> int:
    """Write the error, and below it what the failed node logged last."""
    given = [*options.words, options.reproduce, *(str(path) for path in (options.config, options.svg) if path)]
    message = shortened(current().text(message), given)
    sys.stderr.write(f"pipeline {options.command}: {message}{current().text(said)}\n")
    if options.json:
        with suppress(UnheardError):  # the exit code says it as well
            sys.stdout.write(json.dumps({"status": code.name.lower(), "exit_code": int(code), "error": message}) + "\n")
            sys.stdout.flush()
    return int(code)


def shortened(message: str, words: Sequence[str]) -> str:
    """Cut what a message repeats of the command line where it is too long to be read."""
    parts = {part for word in words for cut in "=,." for part in (word, *word.split(cut), word.partition("=")[2])}
    parts |= {part.strip() for part in parts}
    for part in sorted((part for part in parts if len(part) > LONGEST), key=len, reverse=True):
        for written_as in (part, repr(part)[1:-1]):
            message = message.replace(written_as, f"{written_as[:SHOWN]}… ({len(part)} characters)")
    return message


if __name__ == "__main__":
    sys.exit(main())
