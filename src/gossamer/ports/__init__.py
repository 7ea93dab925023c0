"""The interfaces between the engine and its adapters, one file each.

The engine uses adapters only through these protocols, and the suites of ``gossamer.testing.contracts`` check
every implementation. Unless a method says otherwise:

- Tasks of one event loop may call it concurrently.
- It raises :class:`~gossamer.core.errors.StorageError` if its storage fails, and has then changed nothing
  (or, if the answer was lost, the same call may be repeated without harm).
- Times are in seconds since the epoch (UTC); a name that ends in ``_s`` is a number of seconds.
"""
