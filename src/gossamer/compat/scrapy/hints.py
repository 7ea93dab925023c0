"""Hints for users of Scrapy: Scrapy's names and their equivalents here. No setting is read by these names."""

from __future__ import annotations

SETTINGS = {
    "autothrottle_max_delay": "max_delay",
    "autothrottle_start_delay": "min_delay",
    "autothrottle_target_concurrency": "per_host",
    "closespider_pagecount": "max_pages",
    "closespider_timeout": "max_time",
    "concurrent_requests": "concurrency",
    "concurrent_requests_per_domain": "per_host",
    "concurrent_requests_per_ip": "per_host",
    "default_request_headers": "http.headers",
    "depth_limit": "max_depth",
    "download_delay": "delay",
    "download_maxsize": "http.max_size_bytes",
    "download_timeout": "http.total_timeout",
    "files_expires": "files.days",
    "files_store": "files.url",
    "images_expires": "files.days",
    "images_store": "files.url",
    "images_thumbs": "files.thumbnails",
    "jobdir": "data",
    "log_file": "log.file",
    "log_level": "log.level",
    "randomize_download_delay": "random_delay",
    "redirect_max_times": "http.max_redirects",
    "redis_url": "frontier.url",
    "retry_times": "max_retries",
    "robotstxt_obey": "robots",
    "user_agent": "user_agent",
}
"""Settings that have another name here."""

_MIDDLEWARES = (
    "hooks replace middlewares: hooks = [...] of the spider, with on_request, on_response, on_error"
)
_OUTPUTS = (
    "`gossamer crawl -o FILE` adds items to a file, -O FILE replaces it; `gossamer export` writes them later"
)
_CACHE = "--cache (cache.on) keeps fetched pages for later crawls; replay.folder crawls saved pages"
_DUPLICATES = "duplicates have the same canonical URL, method and body; dont_filter=True lets one pass"
_FRONTIER = "requests wait in the frontier (frontier.*), in the order of their priority"
_SPIDERS = "spiders are found in the folder spiders/ beside gossamer.toml, or by their file"
_FILES = (
    "a field of the type FileRef, or `yield response.file(url)`, has a file fetched and kept; see `files`"
)
_EXTENSIONS = "`crawl(..., sinks=[...])` passes events to your code, in place of extensions and signals"

ADVICE = {
    "autothrottle": "the delay follows the host's response time by itself, within min_delay and max_delay; "
    "delay = SECONDS fixes it",
    "bot_name": "the User-Agent is user_agent, by default gossamer/VERSION (+CONTACT)",
    "closespider": "max_pages and max_time end a crawl",
    "compression": "compressed responses are always unpacked",
    "concurrent_items": "callbacks and pipelines run one after the other in each process; see processes",
    "cookies": "cookies are always kept, in one jar for each `session` of a Request and each site",
    "dns": "names are looked up by the system's resolver, and remembered",
    "download_slots": "every host has its own pace: delay and per_host",
    "downloader_middlewares": _MIDDLEWARES,
    "dupefilter": _DUPLICATES,
    "extensions": _EXTENSIONS,
    "feed": _OUTPUTS,
    "feeds": _OUTPUTS,
    "files": _FILES,
    "httpcache": _CACHE,
    "httperror": "the spider's handle_httpstatus_list names the error statuses for its callbacks",
    "httpproxy": "proxies.urls or proxies.file lists the proxies",
    "images": _FILES,
    "item_pipelines": "the spider names them: pipelines = [Step], each with process_item(item, spider)",
    "log_enabled": "`gossamer crawl -q` is quiet; log.level sets the level",
    "log_format": "log.format is `text` or `json`",
    "memusage": "memory is bounded by limits of single pages (http.max_size_bytes, parse.*)",
    "metarefresh": "a meta refresh is followed like any redirect, up to http.max_redirects",
    "reactor": "callbacks run on asyncio, without a reactor",
    "redirect_enabled": "handle_httpstatus_list = [301, 302, 303, 307, 308] hands redirects to the spider",
    "redis": "frontier.url = redis://HOST/0 keeps the requests in Redis",
    "request_fingerprinter": _DUPLICATES,
    "retry_enabled": "max_retries = 0 switches retries off",
    "retry_exceptions": "failures of the network are retried; see max_retries and retry_backoff",
    "retry_http_codes": "5xx, 408, 425 and 429 are; handle_httpstatus_list hands statuses to the spider",
    "scheduler": _FRONTIER,
    "spider_middlewares": _MIDDLEWARES,
    "spider_modules": _SPIDERS,
    "newspider_module": _SPIDERS,
    "stats": "a spider counts with self.stats.inc(); the summary and `gossamer status` show it",
    "telnetconsole": "`gossamer status` shows a running crawl, in place of a console",
    "twisted": "callbacks run on asyncio, without a reactor",
    "urllength_limit": "URLs of more than 8192 characters are skipped",
}
"""Settings that there are not, by name or by the beginning of it: what to do instead."""

_FORM = "Request(url, form=data), response.form(data, callback), or log_in() of the spider to log in"

_RULES = "rules = [Rule(allow=..., callback=...)]"

IMPORTS = {
    "CloseSpider": "max_pages and max_time end a crawl",
    "CrawlSpider": f"use Spider, with {_RULES}",
    "CrawlerProcess": "use `await gossamer.crawl(Spider)`",
    "CrawlerRunner": "use `await gossamer.crawl(Spider)`",
    "Field": "annotate the fields of an Item: `name: str`, and `sku: str = key()` for what identifies it",
    "FilesPipeline": _FILES,
    "FormRequest": f"use {_FORM}",
    "HtmlResponse": "use Response",
    "ImagesPipeline": _FILES,
    "ItemAdapter": "items are pydantic models, dataclasses or dicts, as they are",
    "ItemLoader": "give an Item the selected values; its annotations convert and check them",
    "JsonRequest": "use Request(url, json=data)",
    "LinkExtractor": f"its options are those of Rule, {_RULES}, and of response.links(allow=...)",
    "TextResponse": "use Response",
    "signals": _EXTENSIONS,
}
"""Names that are not in this package: what to use instead."""

ATTRIBUTES = {
    "download_delay": "delay",
    "download_maxsize": "http.max_size_bytes",
    "download_timeout": "http.total_timeout",
    "http_pass": "http.headers",
    "http_user": "http.headers",
}
"""Attributes of a spider that have a meaning in Scrapy, and none here: the setting that says it."""


COMMANDS = {
    "bench": "`gossamer demo` crawls a small shop on this machine",
    "check": "contracts in docstrings are not read; `gossamer parse URL --spider NAME` shows the result "
    "of a callback, and Response.from_html(url, html) tests one in a line",
    "edit": "open the file of the spider; `gossamer list` shows the spiders",
    "runspider": "`gossamer crawl {rest}` runs the spider of a file",
    "scrapy": "leave that word out: `gossamer {rest}`",
    "startproject": "`gossamer new {rest}` makes a project with a spider that runs",
    "view": "`gossamer fetch {rest} --body > page.html` keeps a page as it came, for a browser to open",
}
"""Commands of Scrapy that have another name here, or none."""
_ARGUMENTS = {"runspider": "FILE.py", "startproject": "DIR", "view": "URL"}
OPTIONS = {
    "--get": "`gossamer settings --explain KEY` shows a setting, and which layer set it",
    "--logfile": "use -s log.file=FILE",
    "--loglevel": "use -s log.level=LEVEL",
    "--nolog": "use -q for neither progress nor a summary",
    "--output-format": "use --format NAME, or the suffix of the file of -o",
    "--pdb": "`gossamer parse URL` shows the traceback of one page",
    "-L": "use -s log.level=LEVEL",
    "-c": "use --callback NAME",
    "-t": "use --format NAME, or the suffix of the file of -o",
    "genspider -t": "there is one template; rules = [Rule(...)] makes it a CrawlSpider",
}
"""Options of Scrapy's commands, with their equivalents."""


def command_advice(name: str, rest: str) -> str:
    """Return advice on one of Scrapy's commands with these arguments; ``""`` for any other name."""
    advice = COMMANDS.get(name, "")
    return advice.replace("{rest}", rest or _ARGUMENTS.get(name, "COMMAND"))


def option_advice(command: str, option: str) -> str:
    """Return advice on an option of Scrapy's commands; ``""`` for any other."""
    return OPTIONS.get(f"{command} {option}") or OPTIONS.get(option, "")


def setting_advice(key: str) -> str:
    """Return advice on one of Scrapy's settings; ``""`` for a name that is not Scrapy's."""
    parts = key.lower().split("_")
    beginnings = ("_".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((ADVICE[beginning] for beginning in beginnings if beginning in ADVICE), "")
