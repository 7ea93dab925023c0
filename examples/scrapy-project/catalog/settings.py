BOT_NAME = "catalog"
SPIDER_MODULES = ["catalog.spiders"]
ROBOTSTXT_OBEY = True
DOWNLOAD_DELAY = 0
ITEM_PIPELINES = {"catalog.pipelines.Euros": 300}
