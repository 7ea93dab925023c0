"""Which pages are asked for, and how: redirects, forms, duplicates, arguments, ends."""

import asyncio

import scrapy
from examples.items import Product
from scrapy.loader import ItemLoader
from twisted.internet.defer import Deferred

SHOP = "http://shop.example"


class Redirected(scrapy.Spider):
    name = "redirected"
    allowed_domains = ["shop.example"]
    custom_settings = {"REDIRECT_MAX_TIMES": 3}

    async def start(self):
        yield scrapy.Request(f"{SHOP}/hop/302", method="POST", body="a=1", meta={"kept": 1})
        yield scrapy.Request(f"{SHOP}/hop/307", method="POST", body="a=1", headers={"X-Own": "1"})
        yield scrapy.Request(f"{SHOP}/hop/301#part", meta={"cookiejar": 1}, cookies={"own": "1"})
        yield scrapy.Request(f"{SHOP}/away", dont_filter=True)
        yield scrapy.Request(f"{SHOP}/round/1", errback=self.on_error)
        yield scrapy.Request(f"{SHOP}/refreshed")

    def parse(self, response):
        yield {
            "url": response.url,
            "asked": response.request.url,
            "method": response.request.method,
            "from": response.meta.get("redirect_urls"),
            "times": response.meta.get("redirect_times"),
            "kept": response.meta.get("kept"),
            "told": response.css("pre::text").get(),
        }

    def on_error(self, failure):
        yield {"failed": failure.request.url, "of": failure.type.__name__}


class Forms(scrapy.Spider):
    name = "forms"
    start_urls = [f"{SHOP}/forms"]

    def parse(self, response):
        forms = {
            "first": {},
            "second": {"formnumber": 1, "formdata": {"q": "wool", "none": None}},
            "named": {"formname": "named", "clickdata": {"name": "go", "value": "second"}},
            "by css": {"formcss": "#byid", "dont_click": True},
            "by path": {"formxpath": "//input[@name='deep']", "formdata": {"deep": ["1", "2"]}},
            "by id": {"formid": "byid", "method": "GET"},
        }
        for name, options in forms.items():
            yield scrapy.FormRequest.from_response(
                response, callback=self.parse_told, cb_kwargs={"name": name}, dont_filter=True, **options
            )

    def parse_told(self, response, name):
        told = response.css("pre::text").get()
        yield {"name": name, "told": told, "url": response.url, "method": response.request.method}


class Twice(scrapy.Spider):
    """Requests that are equal, and requests that are not."""

    name = "twice"
    start_urls = [f"{SHOP}/tell?a=1&b=2", f"{SHOP}/tell?a=1&b=2"]

    def parse(self, response):
        yield {"url": response.url, "depth": response.meta["depth"], "method": response.request.method}
        if response.meta["depth"]:
            return
        for link in (
            "?b=2&a=1",
            "?a=1&b=2#part",
            "?a=1",
            "?a=1&",
            "?utm_source=x&a=1",
            "?A=1",
            "/tell/",
            "/tell",
            "//shop.example/tell",
        ):
            yield response.follow(link)
        for body in ("x", "y", "x"):
            yield scrapy.Request(f"{SHOP}/tell", method="POST", body=body)
        yield scrapy.Request(f"{SHOP}/tell?session=1", headers={"X": "1"})
        yield scrapy.Request(f"{SHOP}/tell?session=1", headers={"X": "2"})
        yield scrapy.Request(f"{SHOP}/tell", dont_filter=True)
        yield scrapy.Request(f"{SHOP}/tell/é è?q=ü")
        yield scrapy.Request(f"{SHOP}/tell/%C3%A9%20%C3%A8?q=%C3%BC")


class Given(scrapy.Spider):
    """Arguments and settings of its own making."""

    name = "given"

    def __init__(self, first="1", *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.start_urls = [f"{SHOP}/list/{first}"]
        self.first = first

    @classmethod
    def update_settings(cls, settings):
        super().update_settings(settings)
        settings.set("MADE_BY", "update_settings", priority="spider")
        settings.setdefault("MADE_TOO", 7)

    async def parse(self, response):
        await asyncio.sleep(0.001)
        loop = asyncio.get_running_loop()
        later = Deferred()
        loop.call_later(0.001, later.callback, "later")
        yield {"by": self.settings["MADE_BY"], "too": self.settings.getint("MADE_TOO"), "first": self.first}
        value = await asyncio.gather(asyncio.sleep(0, "at once"))
        yield {"value": value[0], "later": await scrapy.utils.defer.maybe_deferred_to_future(later)}


class Passed(scrapy.Spider):
    """An item that is filled page by page, and one that several pages share."""

    name = "passed"
    start_urls = [f"{SHOP}/list/1"]

    def parse(self, response):
        shared = {"pages": 0}
        for link in response.css("a.product"):
            item = Product(name=link.css("i::text").get())
            loader = ItemLoader(Product(), selector=link)
            loader.add_css("name", "b::text")
            yield response.follow(
                link, self.parse_product, meta={"item": item, "shared": shared, "loader": loader}, priority=10
            )

    def parse_product(self, response):
        item = response.meta["item"]
        item["price"] = float(response.css("p.price::text").re_first(r"[\d.]+"))
        response.meta["shared"]["pages"] += 1
        loader = response.meta["loader"]
        loader.add_value("tags", [response.css("li::text").get()])
        request = response.follow(
            "/tell?of=" + response.url[-1], self.parse_last, cb_kwargs={"loader": loader}
        )
        request.meta["item"] = item
        yield request

    def parse_last(self, response, loader):
        item = response.meta["item"]
        item["url"] = response.url
        yield item
        yield loader.load_item()


class Ended(scrapy.Spider):
    """Ends by the engine, from within a callback."""

    name = "ended"
    start_urls = [f"{SHOP}/count/1"]
    custom_settings = {"CONCURRENT_REQUESTS": 1, "DEPTH_PRIORITY": 1}

    def parse(self, response):
        number = int(response.css("h1::text").get())
        yield {"number": number}
        if number == 4:
            self.crawler.engine.close_spider(self, "four")
            return
        yield response.follow(f"/count/{number + 1}")

    @staticmethod
    def close(spider, reason):
        with open("ended.txt", "w", encoding="utf-8") as file:
            file.write(reason)


class Selected(scrapy.Spider):
    """Selectors of all kinds of pages."""

    name = "selected"
    start_urls = [
        f"{SHOP}/atom.xml",
        "https://api.example/quotes?page=1",
        f"{SHOP}/product/1",
        f"{SHOP}/coded/gb2312",
    ]

    def parse(self, response):
        if isinstance(response, scrapy.http.XmlResponse):
            response.selector.register_namespace("a", "http://www.w3.org/2005/Atom")
            yield {"titles": response.xpath("//a:title/text()").getall()}
            response.selector.remove_namespaces()
            yield {
                "links": response.css("link::attr(href)").getall(),
                "root": response.xpath("name(/*)").get(),
            }
        elif "api.example" in response.url:
            yield {"texts": response.jmespath("quotes[].text").getall(), "page": response.json()["page"]}
        else:
            yield {
                "re": response.selector.re(r"(\w+)</li>"),
                "text": response.xpath("string(//body)").get(),
                "has": bool(response.css("h1")),
                "default": response.css("h9::text").get(default="none"),
                "attrib": response.css("img").attrib.get("src"),
                "sets": response.xpath("//li[has-class('x')]").getall(),
                "html": response.css("ul").get(),
                "replaced": response.replace(body=b"<b>1</b>").css("b::text").get(),
                "follow": response.follow("?q=\u4e1d").url,
            }
