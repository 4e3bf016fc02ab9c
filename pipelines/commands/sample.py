"""`pipeline sample DIR`: writes the deterministic sample data set."""

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

from pipelines.commands.options import Options
from pipelines.errors import ExitCode, UsageError

EDGES = ("real", "power", "0")


def execute(options: Options) -> int:
    """Write the data set, or say that it is there already; raise UsageError for a wrong argument."""
    from loaders.errors import DataError
    from loaders.sample import write_sample

    folders = [word for word in options.words if "=" not in word]
    if len(folders) != 1:
        raise UsageError("pipeline sample needs one folder, e.g. pipeline sample sample")
    arguments = dict(word.partition("=")[::2] for word in options.words if "=" in word)
    unknown = sorted(set(arguments) - {"edge", "seed", "sessions", "files"})
    if unknown:
        raise UsageError(
            f"unknown argument {unknown[0]!r} of pipeline sample: known are edge=real|power|0, seed=7, sessions=20 and "
            "files=month|day"
        )
    edge, seed = arguments.get("edge", "real"), arguments.get("seed", "7")
    if edge not in EDGES or not (seed.isascii() and seed.isdigit()):
        raise UsageError(
            f"edge={edge} seed={seed}: edge is one of {', '.join(EDGES)}, seed a whole number"
        )
    files, sessions = arguments.get("files", "month"), arguments.get("sessions", "")
    if files not in ("month", "day") or (sessions and not sessions.isdecimal()):
        raise UsageError(f"files={files} sessions={sessions}: files is month or day, sessions a whole number")
    started = time.perf_counter()
    try:
        fewer = {"sessions": int(sessions)} if sessions else {}
        report = write_sample(Path(folders[0]), seed=int(seed), edge=edge, daily=files == "day", **fewer)
    except (DataError, OSError, ValueError) as error:
        raise UsageError(f"cannot write the sample to {folders[0]}: {error}") from None
    seconds = time.perf_counter() - started
    if options.json:
        sys.stdout.write(json.dumps({**asdict(report), "seconds": round(seconds, 2)}, default=str) + "\n")
    else:
        sys.stdout.write(
            f"{folders[0]}: {report.records:,} records in {len(report.files)} files (edge={edge}, seed={seed})\n"
        )
    return ExitCode.DONE
