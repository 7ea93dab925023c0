"""The order of an item's stages on its way to the store."""

from __future__ import annotations

from enum import StrEnum


class StageOrder(StrEnum):
    """When a stage of the pipeline has its turn; the members are in that order.

    Stages of one order run as they are listed. Cleaning and validation by the item's own type come before
    the first stage of ``DEDUPLICATE`` or later, so that those see typed values.
    """

    CLEAN = "clean"  # it sees items as the spider yields them; what says nothing else is one of these
    VALIDATE = "validate"  # drops unwanted items
    DEDUPLICATE = "deduplicate"  # drops or merges known items
    ENRICH = "enrich"  # adds data from elsewhere
    STORE = "store"  # it looks at the finished record and changes nothing
