"""Runs many spiders of the Scrapy project here in one process; the items of each are in ``NAME.made.jsonl``.

A spider is named ``NAME``, or ``NAME:ARGUMENT=VALUE``.
"""

import sys

from collecting import collect_items
from reference import give_start_requests
from scrapy.crawler import CrawlerProcess
from scrapy.utils.project import get_project_settings

if __name__ == "__main__":
    sys.path.insert(0, "")
    give_start_requests()
    settings = get_project_settings()
    settings.update({"TELNETCONSOLE_ENABLED": False, "LOG_LEVEL": "INFO"}, priority="cmdline")
    process = CrawlerProcess(settings)
    for given in sys.argv[1:]:
        name, _, argument = given.partition(":")
        crawler = process.create_crawler(name)
        collect_items(crawler, f"{given}.made.jsonl")
        process.crawl(crawler, **dict([argument.split("=")] if argument else []))
    process.start()
