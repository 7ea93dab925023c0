"""Items of each kind that Scrapy takes."""

from dataclasses import dataclass, field

import scrapy
from itemloaders.processors import Compose, Join, MapCompose, TakeFirst
from scrapy.loader import ItemLoader


def to_number(text):
    return float(text.strip("€ "))


class Product(scrapy.Item):
    name = scrapy.Field()
    price = scrapy.Field(serializer=lambda value: f"{value:.2f} EUR")
    tags = scrapy.Field()
    url = scrapy.Field()
    file_urls = scrapy.Field()
    files = scrapy.Field()
    image_urls = scrapy.Field()
    images = scrapy.Field()


class ProductLoader(ItemLoader):
    default_item_class = Product
    default_output_processor = TakeFirst()
    name_in = MapCompose(str.strip, str.title)
    name_out = Join(" ")
    price_in = MapCompose(to_number)
    tags_in = MapCompose(lambda tag: None if tag == "old" else tag.upper())
    tags_out = Compose(sorted)


@dataclass
class Saying:
    text: str
    author: str = "nobody"
    tags: list = field(default_factory=list)
