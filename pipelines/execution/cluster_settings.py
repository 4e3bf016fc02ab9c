"""How a cluster is started or reached: where it listens, who may connect, what a worker gets, how often a task may kill one."""

import re
from dataclasses import dataclass, field

NONE = "none"
_SIZE = re.compile(r"\d+(\.\d+)?\s*([kMGT]i?B)?")
_ADDRESS = re.compile(r"(tcp|tls)://(\[[0-9a-fA-F:]+\]|[^\s:/]+):\d{1,5}")


@dataclass(frozen=True)
class SecuritySettings:
    """PEM files of TLS for scheduler, workers and driver alike: who has no certificate of `ca_file` cannot connect."""

    ca_file: str = ""
    cert: str = ""
    key: str = ""

    def __post_init__(self) -> None:
        """Refuse half of what TLS needs."""
        given = [name for name in ("ca_file", "cert", "key") if getattr(self, name)]
        if given and len(given) < 3:
            raise ValueError(
                f"cluster_options.security has only {', '.join(given)}: give ca_file, cert and key, or none of them"
            )

    @property
    def on(self) -> bool:
        """Whether connections are encrypted."""
        return bool(self.ca_file)


@dataclass(frozen=True)
class ClusterOptions:
    """Of a started cluster: `host` and `dashboard` (`none`: no dashboard) are what it listens on, `threads_per_worker` how
    many nodes a process runs at once, `memory_limit` what a process may hold before it is killed and its work done again.

    Of any cluster: `security`, `wait_s` seconds for a scheduler and its first worker, `most_deaths` of workers a node may
    cause before it has failed.
    """

    host: str = "127.0.0.1"
    dashboard: str = "127.0.0.1:0"
    threads_per_worker: int = 1
    memory_limit: str = NONE
    security: SecuritySettings = field(default_factory=SecuritySettings)
    wait_s: float = 30.0
    most_deaths: int = 3

    def __post_init__(self) -> None:
        """Refuse what no cluster could be started with."""
        if not self.host or "/" in self.host:
            raise ValueError(f"cluster_options.host is {self.host!r}, must be an address to listen on: use 127.0.0.1")
        if self.dashboard != NONE and not re.fullmatch(r".+:\d{1,5}", self.dashboard):
            raise ValueError(f"cluster_options.dashboard is {self.dashboard!r}, must be host:port or none: use 127.0.0.1:0")
        if self.threads_per_worker < 1:
            raise ValueError(f"cluster_options.threads_per_worker is {self.threads_per_worker}, must be at least 1")
        if self.memory_limit != NONE and not _SIZE.fullmatch(self.memory_limit):
            raise ValueError(f"cluster_options.memory_limit is {self.memory_limit!r}, must be a size like 4GiB, or none")
        if not self.wait_s > 0 or self.most_deaths < 1:
            raise ValueError(
                f"cluster_options: wait_s is {self.wait_s} and most_deaths {self.most_deaths}; wait_s must be above 0 seconds, "
                "most_deaths at least 1"
            )


def is_address(cluster: str) -> bool:
    """Say whether `cluster` names a scheduler that runs already: `tcp://host:port`, `tls://host:port` or its .json file."""
    return _ADDRESS.fullmatch(cluster) is not None or cluster.endswith(".json")
