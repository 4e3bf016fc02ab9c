"""The digest of what a task made: of the bytes of its artefact's files, those of its parts included."""

from typing import Any

from pipelines.keying.keys import digest
from pipelines.storage.store import Store


def output_digest(store: Store, manifest: dict[str, Any] | None) -> str:
    """Return the sha256 over the checksums of an artefact's files, "" for none; reads manifests, not the files.

    Equal digests are equal bytes, whatever key, store or machine they are of.
    """
    if manifest is None:
        return ""
    files = {name: part["sha256"] for name, part in sorted(manifest["files"].items())}
    needs = manifest.get("needs", ())
    if not needs:
        return digest(files)
    # the list of parts names keys; what was made is in the parts
    return digest([output_digest(store, store.manifest(key)) for key in needs])
