"""The seams of the house: every place where one thing can be put in place of another, one seam a file.

Adapters implement these protocols in rooms of their own, the engine speaks to them only, and the suites of
``gossamer.testing.contracts`` prove every implementation. Unless a method says otherwise:

- it may be called concurrently, by tasks of one event loop;
- it raises :class:`~gossamer.core.errors.StorageError` when its storage fails, and has then changed nothing
  (or, where the answer was lost, the same call may be repeated without harm);
- times are in seconds since the epoch (UTC), and a name that ends in ``_s`` is a number of seconds.
"""
