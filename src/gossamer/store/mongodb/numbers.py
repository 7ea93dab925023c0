"""Numbers that ascend and are given away once: of items, of rows of the ledger, of jobs."""

from __future__ import annotations

from typing import Any

from gossamer.drivers.mongodb.packages import ReturnDocument
from gossamer.drivers.mongodb.server import MongoDatabase


async def take_numbers(db: MongoDatabase, name: str, count: int = 1) -> int:
    """Return the first of ``count`` new numbers, from 1 on. Some are lost when the answer is."""
    found: Any = await db["counter"].find_one_and_update(
        {"_id": name}, {"$inc": {"value": count}}, upsert=True, return_document=ReturnDocument.AFTER
    )
    return int(found["value"]) - count + 1
