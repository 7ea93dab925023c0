"""Notes the items of a Scrapy crawl as lines of JSON, with what JSON has no form for as text."""

import json
from pathlib import Path

from scrapy import signals
from scrapy.exporters import BaseItemExporter
from scrapy.utils.serialize import ScrapyJSONEncoder


class _Encoder(ScrapyJSONEncoder):
    def default(self, o):
        if isinstance(o, bytes):
            return o.decode("utf-8", "replace")
        try:
            return super().default(o)
        except TypeError:
            return [*o] if hasattr(o, "__iter__") else str(o)


class _LineExporter(BaseItemExporter):
    def __init__(self, place):
        super().__init__()
        self.place = place

    def export_item(self, item):
        with self.place.open("a", encoding="utf-8") as output:
            output.write(json.dumps(dict(self.get_serialized_fields(item)), cls=_Encoder) + "\n")


def collect_items(crawler, file):
    """Write each item of a crawler into a file as it is scraped."""
    place = Path(file).resolve()
    place.write_bytes(b"")
    exporter = _LineExporter(place)

    def on_item(item):
        exporter.export_item(item)

    crawler.signals.connect(on_item, signal=signals.item_scraped, weak=False)
