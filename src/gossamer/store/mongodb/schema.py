"""The collections in MongoDB, and their indexes.

Each document has a natural ``_id`` (such as ``JOB/FINGERPRINT/VISIT``), so that a document that is sent twice
is stored once. Indexes are made when the store is opened; there is no other schema.

- ``identity``: this store's random id. ``job``: the book. ``counter``: the highest number assigned, by name.
- ``item``: the latest value of each item; ``version``: its former ones, by number and version;
  ``sighting``: which version a job saw.
- ``page``, ``attempt``, ``sample``: the pages, the ledger, examples of dropped items.
- ``tally``, ``series``, ``hourly``: counters, a document for each writer, with the number of the latest batch
  that is counted in it. ``gauge``: gauges over time.
- ``file``: the files that jobs have saved. ``known``: how often pages of spiders change.
- ``profile``: statistics of a job's items. ``result``: jobs that are results of another one.
- ``feed``, ``output``: the numbers of changes, and how far each output has come.
- ``job_key``: the one job of a caller's key; ``job_name``: the latest job of a name that runs one at a time.
- ``schedule``, ``schedule_run``: scheduled crawls, and their runs.
- ``token``, ``action``: access tokens, and the log of actions.
"""

from __future__ import annotations

from gossamer.drivers.mongodb.server import Indexes, MongoServer

INDEXES: Indexes = {
    "job": [["name", "-seq"], ["-seq"], ["key"]],
    "item": [["change?"], ["number"], ["spider", "-changed_at", "-number"], ["spider", "type"], ["url"]],
    "version": [["url"], ["item", "-version"]],
    "sighting": [["job", "item"], ["job", "mix"]],
    "page": [["job", "fingerprint", "-visit"]],
    "attempt": [
        ["job", "-_id"],
        ["job", "reason", "-_id"],
        ["job", "url", "-_id"],
        ["job", "fingerprint", "-_id"],
        ["at"],
    ],
    "known": [["spider", "due_at", "fingerprint"], ["spider", "interval_s"]],
    "file": [["sha256"], ["place", "-last_seen"], ["last_seen"], ["job", "_id"]],
    "tally": [["job"]],
    "series": [["job", "at"], ["step", "at"]],
    "gauge": [["job", "at"], ["step", "at"]],
    "hourly": [["job", "kind", "hour", "who"], ["job", "kind", "label", "hour", "-value"], ["kind", "hour"]],
    "sample": [["job", "reason", "slot"]],
    "result": [["base", "-created_at"]],
    "schedule_run": [["schedule", "-due_at"], ["is_open", "due_at"]],
    "token": [["digest"], ["name"]],
    "action": [["-number"], ["job", "-number"]],
}


def make_server(url: str, *, patience_s: float = 60.0, timeout_s: float = 30.0) -> MongoServer:
    """Return the server at a URL, with the indexes of these stores."""
    return MongoServer(url, indexes=INDEXES, patience_s=patience_s, timeout_s=timeout_s)
