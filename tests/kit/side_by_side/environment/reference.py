"""``scrapy``, which notes its items in a file, and which lets spiders begin with ``start_requests()``.

``reference.py MODE FILE COMMAND...``: Scrapy 2.16 took ``start_requests()`` away. The mode has the word
``start_requests`` if spiders may begin with it again, ``aliases`` if other removed names are found again.
"""

import inspect
import sys
from importlib import import_module

from collecting import collect_items
from scrapy import Request, Spider
from scrapy.cmdline import execute
from scrapy.crawler import Crawler

_start = Spider.start
_init = Crawler.__init__


def _start_requests(self):
    for url in self.start_urls:
        yield Request(url, dont_filter=True)


async def _start_by_requests(self):
    if type(self).start_requests is _start_requests:
        async for request in _start(self):
            yield request
        return
    found = self.start_requests()
    if inspect.isasyncgen(found):
        async for request in found:
            yield request
        return
    for request in (await found if inspect.isawaitable(found) else found) or ():
        yield request


def give_start_requests():
    """Let spiders begin with ``start_requests()`` again."""
    Spider.start_requests, Spider.start = _start_requests, _start_by_requests


if __name__ == "__main__":
    mode, file = sys.argv.pop(1), sys.argv.pop(1)
    if "start_requests" in mode:
        give_start_requests()
    if "aliases" in mode:
        import_module("gossamer.adapters.scrapy.aliases").install_aliases()

    def _init_and_collect(self, *args, **kwargs):
        _init(self, *args, **kwargs)
        collect_items(self, file)

    Crawler.__init__ = _init_and_collect
    execute()
