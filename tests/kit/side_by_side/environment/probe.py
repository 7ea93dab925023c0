"""Prints the spiders of the Scrapy project here, one JSON object a line, and what cannot be imported.

With the argument ``aliases``, modules that Scrapy has removed are found where Gossamer finds them.
"""

import importlib
import inspect
import json
import pkgutil
import sys
import traceback
import warnings

warnings.simplefilter("ignore")
from scrapy import Spider  # noqa: E402
from scrapy.utils.project import get_project_settings  # noqa: E402


def _walk(name):
    yield name
    package = importlib.import_module(name)
    for found in pkgutil.iter_modules(getattr(package, "__path__", [])):
        if found.ispkg:
            yield from _walk(f"{name}.{found.name}")
        else:
            yield f"{name}.{found.name}"


def _look(name):
    try:
        module = importlib.import_module(name)
    except BaseException as error:
        line = traceback.format_exception_only(error)[-1].strip()
        yield {"module": name, "error": line}
        return
    for found in vars(module).values():
        if (
            inspect.isclass(found)
            and issubclass(found, Spider)
            and found.__module__ == name
            and getattr(found, "name", None)
        ):
            yield {
                "module": name,
                "file": inspect.getsourcefile(found),
                "class": found.__name__,
                "name": found.name,
                "start_requests": getattr(found, "start_requests", None)
                is not getattr(Spider, "start_requests", None),
            }


sys.path.insert(0, "")
if sys.argv[1:] == ["aliases"]:
    importlib.import_module("gossamer.adapters.scrapy.aliases").install_aliases()
try:
    modules = get_project_settings().getlist("SPIDER_MODULES")
except BaseException as error:
    print(
        "SPIDER "
        + json.dumps({"module": "settings", "error": traceback.format_exception_only(error)[-1].strip()})
    )
    modules = []
for base in modules:
    try:
        names = list(_walk(base))
    except BaseException as error:
        print(
            "SPIDER "
            + json.dumps({"module": base, "error": traceback.format_exception_only(error)[-1].strip()})
        )
        continue
    for one in names:
        for row in _look(one):
            print("SPIDER " + json.dumps(row))
