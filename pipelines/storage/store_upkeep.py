"""What a run does for its store: holds a lease while it lives, and leaves the store within its budget."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from pipelines.config.settings import Settings
from pipelines.storage.eviction import Eviction, evict, require_budget
from pipelines.storage.remote_store import RemoteStore
from pipelines.storage.sizes import parse_size
from pipelines.storage.store import Store
from pipelines.storage.store_leases import fold_ended, held


@contextmanager
def kept_up(
    store: Store, settings: Settings, tasks: Mapping[str, str], note: Callable[..., None]
) -> Iterator[Callable[[Mapping[str, str]], None]]:
    """Hold the artefacts of a run (key → node) while it lives; where it ends well, bring the store within its budget.

    Yields a function that holds all that the run turns out to need. `note(event, **facts)` is told what was evicted. Raises
    ConfigurationError, before anything is computed, for a budget that the run cannot fit.
    """
    budget, cache_budget = parse_size(settings.store_budget), parse_size(settings.store_cache_budget)
    with ExitStack() as leases:

        def hold(needed: Mapping[str, str]) -> None:
            leases.enter_context(held(store, needed))
            if budget is not None:
                require_budget(store, needed, budget)

        hold(tasks)
        yield hold
        if budget is not None:
            _noted(note, "store", evict(store, budget))
        fold_ended(store)
        if isinstance(store, RemoteStore) and cache_budget is not None:
            _noted(note, "cache", evict(store.cache, cache_budget, uses_of=store))


def _noted(note: Callable[..., Any], where: str, done: Eviction) -> None:
    if done.artefacts or done.over:
        note("evicted", where=where, artefacts=len(done.artefacts), bytes=done.bytes, over=done.over)
