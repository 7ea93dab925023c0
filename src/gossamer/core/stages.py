"""The order of what an item passes on its way to the store."""

from __future__ import annotations

from enum import StrEnum


class StageOrder(StrEnum):
    """When a stage of the pipeline has its turn; the members are in that order.

    Stages of one order run as they are listed. Cleaning and validation by the item's own type come before
    the first stage of ``DEDUPLICATE`` or later, so that those see typed values.
    """

    CLEAN = "clean"  # it sees items as the spider yields them; what says nothing else is one of these
    VALIDATE = "validate"  # it drops what is not wanted
    DEDUPLICATE = "deduplicate"  # it drops or joins what is there already
    ENRICH = "enrich"  # it adds what the page does not say
    STORE = "store"  # it looks at the finished record and changes nothing
