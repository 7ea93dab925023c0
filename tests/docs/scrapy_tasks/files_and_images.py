import scrapy


class Manuals(scrapy.Spider):
    name = "manuals"
    start_urls = ["http://127.0.0.1:8085/shop"]
    custom_settings = {
        "ITEM_PIPELINES": {
            "scrapy.pipelines.images.ImagesPipeline": 1,
            "scrapy.pipelines.files.FilesPipeline": 2,
        },
        "IMAGES_STORE": "files",
        "FILES_STORE": "files",
    }

    def parse(self, response):
        for product in response.css(".product"):
            yield {
                "name": product.css("h2::text").get(),
                "image_urls": [response.urljoin(product.css("img::attr(src)").get())],
                "file_urls": [response.urljoin(product.css("a.manual::attr(href)").get())],
            }
