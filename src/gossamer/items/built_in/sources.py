"""A stage that keeps the values of several hosts for one thing apart, for `gossamer merge`."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import BaseModel, create_model

from gossamer.core.errors import UsageError
from gossamer.core.stages import StageOrder
from gossamer.items.item import Item, as_another, key
from gossamer.policy import urls
from gossamer.policy.merge import SOURCE_FIELD, SOURCE_MARK


class SourceKey:
    """Makes the host of the page a part of an item's key, and ``Product`` a ``Product@source``.

    Without it, items of one type and key are one item: of two shops with the same ``sku`` the values of the
    later page would stay. `gossamer merge JOB --by sku` makes a ``Product`` of them, with what each says.
    """

    order = StageOrder.DEDUPLICATE

    def process_item(self, item: Any, _spider: Any, page: Any = None) -> Any:
        """Return the item with its source. Raises ``UsageError`` unless it is an Item or a dict."""
        host = urls.host_key(page.url) if page is not None else ""
        if isinstance(item, dict):
            return {**item, SOURCE_FIELD: host}
        if not isinstance(item, Item):
            raise UsageError(f"keep-sources: a {type(item).__name__} has no room for its source; use an Item")
        return as_another(item, sourced_class(type(item)), {SOURCE_FIELD: host})


@cache
def sourced_class(kind: type[BaseModel]) -> type[BaseModel]:
    """Return the class of items that have a source, beside the fields of ``kind``."""
    fields: dict[str, Any] = {SOURCE_FIELD: (str, key(default=""))}
    return create_model(f"{kind.__name__}{SOURCE_MARK}", __base__=kind, **fields)
