"""A shop whose pages are empty until their scripts have run, so that they need a browser.

Every page loads a style sheet and a program, requests its data, and shows a product with pictures or a list
of links. Crawlers do not load pictures and fonts; the server's log shows which crawler did.
"""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

LISTINGS, PER_LISTING = 5, 24
PICTURES = 6
_TEXT = "solid wood with a soft finish that ages well and a frame made by hand in small numbers for rooms"
_WORDS = _TEXT.split()

_SHELL = """<!doctype html><html><head><meta charset="utf-8"><title>Shop</title>
<link rel="stylesheet" href="/style.css"><script src="/app.js" defer></script></head>
<body data-source="{source}"><header>Shop</header><main id="root"></main></body></html>
"""
_APP = """
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
function show(found) {
  const root = document.getElementById('root');
  if (found.products) {
    for (const product of found.products)
      root.append(element('article', {}, element('a', {class: 'product', href: product.url}, product.name),
                          element('img', {src: product.picture, width: 120, height: 90})));
    root.append(element('nav', {class: 'pages'}, ...found.pages.map(url => element('a', {href: url}, url))));
  } else {
    for (const src of found.pictures) root.append(element('img', {src, width: 400, height: 300}));
    root.append(element('p', {class: 'sku'}, found.sku), element('p', {class: 'price'}, found.price));
    const table = element('table', {});
    for (const [name, value] of found.rows)
      table.append(element('tr', {}, element('th', {}, name), element('td', {}, value)));
    root.append(table, ...found.reviews.map(text => element('section', {class: 'review'}, text)));
  }
  document.title = found.name;
  root.append(element('h1', {}, found.name));
}
fetch(document.body.dataset.source).then(answer => answer.json()).then(show);
"""
_STYLE = """@font-face { font-family: Shop; src: url(/shop.woff2); }
body { font-family: Shop, sans-serif; background: url(/i/background.png); }
article { float: left; width: 20%; } section { columns: 2; margin: 1em; } td { padding: 2px 8px; }
"""


def build_site(folder: Path) -> list[dict[str, str]]:
    """Write the site; its products, as a complete crawl yields them."""
    for name in ("list", "product", "api"):
        (folder / name).mkdir(parents=True)
    padding = "".join(f".c{n} {{ color: #{n:06x}; margin: {n % 9}px }}\n" for n in range(600))
    (folder / "style.css").write_text(_STYLE + padding)
    (folder / "app.js").write_text(_APP + "".join(f"// {prose(Random(n), 12)}\n" for n in range(300)))
    (folder / "robots.txt").write_text("User-agent: *\nDisallow: /private/\n")
    products = [product(number) for number in range(LISTINGS * PER_LISTING)]
    for number in range(LISTINGS):
        write_listing(folder, number, products[number * PER_LISTING : (number + 1) * PER_LISTING])
    for number, item in enumerate(products):
        write_product(folder, number, item)
    return products


def product(number: int) -> dict[str, str]:
    random = Random(number)
    name = f"{prose(random, 2)} No. {number}".title()
    return {"sku": f"S-{number:04d}", "name": name, "price": f"{random.randrange(99, 99_999) / 100:.2f}"}


def write_listing(folder: Path, number: int, shown: list[dict[str, str]]) -> None:
    entries = [
        {"url": f"/product/{item['sku']}.html", "name": item["name"], "picture": f"/i/{item['sku']}-0.png"}
        for item in shown
    ]
    pages = ["/" if n == 0 else f"/list/{n}.html" for n in range(LISTINGS)]
    name = "index" if number == 0 else f"list/{number}"
    data = {"name": f"Page {number + 1}", "products": entries, "pages": pages}
    (folder / f"{name}.html").write_text(_SHELL.format(source=f"/api/list-{number}.json"))
    (folder / "api" / f"list-{number}.json").write_text(json.dumps(data))


def write_product(folder: Path, number: int, item: dict[str, str]) -> None:
    random = Random(number + 7)
    data = {
        **item,
        "pictures": [f"/i/{item['sku']}-{n}.png" for n in range(PICTURES)],
        "rows": [[prose(random, 2), prose(random, 6)] for _ in range(40)],
        "reviews": [prose(random, 80) for _ in range(20)],
    }
    (folder / "product" / f"{item['sku']}.html").write_text(_SHELL.format(source=f"/api/{item['sku']}.json"))
    (folder / "api" / f"{item['sku']}.json").write_text(json.dumps(data))


def prose(random: Random, words: int) -> str:
    return " ".join(random.choices(_WORDS, k=words))
