"""As a project has them that was made by ``scrapy startproject``."""

BOT_NAME = "examples"
SPIDER_MODULES = ["examples.spiders"]
NEWSPIDER_MODULE = "examples.spiders"
ROBOTSTXT_OBEY = True
FEED_EXPORT_ENCODING = "utf-8"
EXTENSIONS = {"examples.extensions.ItemCount": 500}
ITEM_COUNT_NAME = "examples/scraped"
