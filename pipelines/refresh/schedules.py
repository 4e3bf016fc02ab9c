"""A systemd user timer or a cron line that runs `pipeline refresh` every day: texts, and writing the first without root."""

import os
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipelines.errors import UsageError

CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")
SECRETS = "%h/.config/walkfold/environment"


@dataclass(frozen=True)
class Schedule:
    """`service`, `timer`: the systemd units; `cron`: the line of a crontab; `enable`: what starts the timer."""

    name: str
    service: str
    timer: str
    cron: str
    enable: str

    def write(self, folder: Path) -> list[Path]:
        """Write the two units; return their paths. Starts nothing."""
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f"{self.name}.service", folder / f"{self.name}.timer"]
        for path, text in zip(paths, (self.service, self.timer), strict=True):
            path.write_text(text, encoding="utf-8")
        return paths


def schedule(name: str, at: str, words: Sequence[str], folder: Path) -> Schedule:
    """Return the texts for a job that runs every day `at` HH:MM (the machine's time zone) in a folder with these arguments.

    Raises UsageError for a time that is none, and for arguments with secrets, which units and crontabs show to others.
    """
    found = CLOCK.fullmatch(at)
    if found is None:
        raise UsageError(f"at={at} is not a time of the day: write HH:MM, e.g. at=06:30")
    if secret := [word for word in words if word.startswith("store_options.")]:
        name_only = secret[0].partition("=")[0]
        raise UsageError(f"{name_only} would stand in the timer for others to read: set it in the environment")
    command = [sys.executable, "-m", "pipelines.cli", "refresh", *words]
    unit = re.sub(r"[^A-Za-z0-9:_.-]", "-", f"walkfold-refresh-{name}")
    place = str(folder).replace("%", "%%")  # the rest of the line is the path: quotes would be part of it
    service = (
        f"[Unit]\nDescription=walkfold refresh of {name}\n\n[Service]\nType=oneshot\nWorkingDirectory={place}\n"
        f"# DATABENTO_API_KEY=… and the store's credentials belong into this file, readable by you alone\n"
        f"EnvironmentFile=-{SECRETS}\nExecStart={' '.join(_systemd(word) for word in command)}\n"
        "# 2: usage, 3: a delivery was refused, 5: another refresh runs; none of them gets better by trying again at once\n"
        "RestartPreventExitStatus=2 3 5\n"
    )
    timer = (
        f"[Unit]\nDescription=walkfold refresh of {name} every day\n\n[Timer]\nOnCalendar=*-*-* {at}:00\nPersistent=true\n\n"
        "[Install]\nWantedBy=timers.target\n"
    )
    line = f"cd {shlex.quote(str(folder))} && {shlex.join(command)}".replace("%", r"\%")  # a bare % ends the line for cron
    cron = f"{int(found[2])} {int(found[1])} * * * {line}"
    enable = f"systemctl --user daemon-reload && systemctl --user enable --now {unit}.timer"
    return Schedule(unit, service, timer, cron, enable)


def user_units() -> Path:
    """Return the folder of this user's systemd units."""
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "systemd" / "user"


def _systemd(word: str) -> str:
    """Quote a word for a unit file: % and $ mean something there, and so do quotes and backslashes."""
    text = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{text}"' if re.search(r"[\s'\"\\;]", word) or not word else text
