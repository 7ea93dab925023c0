from typing import Any


class Euros:
    def process_item(self, item: dict[str, Any], spider: Any) -> dict[str, Any]:
        item["price"] = f"€{item['price']}"
        return item
