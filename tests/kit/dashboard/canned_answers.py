"""Answers of a made-up fleet: large, busy, in trouble, and with texts of strangers that mean harm.

The same numbers at every run. Only names of the reserved example domains.
"""

from __future__ import annotations

import math
import random
import time
from typing import Any

from gossamer.policy.sentences.errors import words_for

NOW = time.time()
VIEWS = [
    "/",
    "/alerts",
    "/workers",
    "/proxies",
    "/schedules",
    "/new",
    "/page",
    "/page?url=https://a.example/x&job=shops-7",
    "/jobs/shops-7",
    "/jobs/shops-7/hosts?host=api.shop.example",
    "/jobs/shops-7/errors",
    "/jobs/shops-7/dead?id=1312",
    "/jobs/shops-7/items?id=640632",
    "/jobs/shops-7/attempts",
    "/jobs/shops-7/settings",
]
"""Every view, with a sheet where it has one."""
LONG_HOST = "very-long-label-that-somebody-really-registered-" * 3 + "x.example"
LONG_URL = "https://www.fabrics.example/search?" + "&".join(
    f"filter%5B{i}%5D%5Battribute_name%5D=value-{i * 7919 % 1000}" for i in range(90)
)
HOSTILE = (
    "<script>document.title='broken'</script>",
    '"><img src=x onerror=alert(1)>',
    "Invoice\u202egnp.exe",
    '=HYPERLINK("https://evil.example","Click")',
    "Z\u0351\u0343\u0341\u035b\u0350\u0357\u0346a\u0302\u0300\u0344\u030a\u0350l\u035bgo lamp",
    "مصباح طاولة من النحاس",
    "銅製のテーブルランプ 四十センチ",
    "Line one\nLine two\x00 and a NUL",
    "Loremipsumdolorsitametconsetetursadipscingelitrseddiamnonumyeirmodtemporinviduntutlaboreetdolore" * 3,
    "{{constructor.constructor('alert(1)')()}}",
    "   ",
    "👩‍👩‍👧‍👦 Family lamp 🏳️‍🌈",
    "javascript:alert(1)//https://a.example/",
)
TRACEBACK = """Traceback (most recent call last):
  File "/usr/lib/python3/dist-packages/gossamer/extractor.py", line 118, in _run
    async for thing in _things(callback(response, **kwargs)):
  File "/home/me/shops.py", line 48, in parse_product
    price=Decimal(response.css(".price::text").get().replace(",", ".")),
decimal.InvalidOperation: [<class 'decimal.ConversionSyntax'>]"""


def wander(seed: str, n: int, base: float, noise: float = 0.06) -> list[float]:
    """Values that wander around one."""
    made, drift = random.Random(seed), 0.0
    values = []
    for _ in range(n):
        drift = drift * 0.86 + made.gauss(0, noise / 2)
        values.append(max(0.0, base * (1 + drift)))
    return values


def _job(number: str, target: str, **more: Any) -> dict[str, Any]:
    made = {
        "job": number,
        "target": target,
        "state": "running",
        "finish_reason": "",
        "created_at": NOW - 6130,
        "finished_at": None,
        "pages": 0,
        "items": 0,
        "done": 0,
        "pending": 0,
        "delayed": 0,
        "leased": 0,
        "dead": 0,
        "pages_per_s": 0.0,
        "allowed_per_s": 0.0,
        "limit": "politeness",
        "left_s": None,
        "left_least_s": None,
        "left_most_s": None,
        "left_text": "",
        "goals": [],
        "max_pages": None,
        "spark": [],
        "trouble": "",
        "trouble_kind": "",
        "hosts_held": 0,
        "failed_share": None,
        "state_note": "",
        "is_fresh": False,
    }
    made |= more
    made["waiting"] = made["pending"] + made["delayed"] + made["leased"]
    made["spark"] = wander(f"spark {number}", 60, made["pages_per_s"] or 0.01)
    return made


JOBS = [
    _job(
        "news-12",
        "news.py:News",
        pages=88_240,
        items=41_871,
        done=97_015,
        pending=18_204,
        delayed=412,
        leased=24,
        dead=9,
        pages_per_s=18.4,
        allowed_per_s=19.2,
        left_s=3130,
        left_text="45-60 min",
        trouble="96% of its items have no title since 13:54.",
        trouble_kind="dead",
    ),
    _job(
        "shops-7",
        "shops.py:Shops region=eu",
        pages=1_204_551,
        items=640_632,
        done=1_311_870,
        pending=571_204,
        delayed=18_220,
        leased=231,
        dead=1_312,
        pages_per_s=214.0,
        allowed_per_s=223.0,
        left_s=7680,
        left_text="2 h",
        goals=[{"what": "products", "done": 640_632, "total": 912_400}],
        max_pages=3_000_000,
        trouble="1,204 dead letters since 13:40, all of api.shop.example (server).",
        trouble_kind="dead",
        hosts_held=3,
        failed_share=0.013,
    ),
    _job(
        "recipes-5",
        "https://recipes.example/",
        pages=4_010,
        items=3_871,
        done=4_602,
        pending=9_113,
        delayed=1,
        limit="held",
        left_text="from 14:40",
        trouble="Its one host asked for time (429, Retry-After 600 s).",
        trouble_kind="held",
    ),
    _job(
        "archive-2",
        "archive.py:Archive",
        pages=10_000_000,
        items=9_871_220,
        done=11_204_118,
        pending=12_480_113,
        delayed=204_118,
        leased=256,
        dead=48_210,
        pages_per_s=118.0,
        allowed_per_s=402.0,
        limit="workers",
        left_text="finding",
        trouble="Slower than allowed: all slots are busy. 10 more workers would help.",
        trouble_kind="info",
    ),
    _job(
        "docs-31",
        "https://docs.example.org/",
        pages=118_400,
        items=118_400,
        done=121_019,
        pending=19_204,
        delayed=12,
        leased=64,
        pages_per_s=61.3,
        allowed_per_s=64.0,
        left_s=262,
        left_text="4-5 min",
    ),
    _job(
        "boards-3",
        "boards.py:Boards",
        state="paused",
        pages=61_204,
        items=58_110,
        done=66_018,
        pending=40_115,
        delayed=88,
        dead=31,
        state_note="paused at 12:20 by token ops",
    ),
    _job("evil-1", HOSTILE[0], pages=1, items=0, done=1, limit=""),
]


def _way(text: str, place: str = "", action: str = "", command: str = "") -> dict[str, str]:
    return {"text": text, "place": place, "action": action, "command": command}


TROUBLES = [
    {
        "kind": "drift",
        "severity": "needs_you",
        "who": "news-12",
        "job": "news-12",
        "text": "news-12 stores items without a title since 13:54: 96% of them.",
        "since": NOW - 2280,
        "ways": [_way("See what changed", "/jobs/news-12/items"), _way("Pause it", action="pause")],
    },
    {
        "kind": "dead_letters",
        "severity": "needs_you",
        "who": "shops-7",
        "job": "shops-7",
        "text": "shops-7 has 1,204 new dead letters, all of api.shop.example.",
        "since": NOW - 3120,
        "ways": [_way("Look at them", "/jobs/shops-7/dead")],
    },
    {
        "kind": "silent_worker",
        "severity": "takes_care",
        "who": "crawl-3:8752",
        "job": "",
        "text": "crawl-3:8752 is silent. Its 2 shifts went to other workers; nothing is lost.",
        "since": NOW - 42,
        "ways": [_way("See workers", "/workers"), _way("Start a worker", command="gossamer worker")],
    },
]


def alerts() -> dict[str, Any]:
    def notice(state: str, text: str, **more: Any) -> dict[str, Any]:
        done = NOW - 60 if state != "waiting" else None
        usual = {
            "target": "ops",
            "change": "begun",
            "alert": "drift",
            "job": "news-12",
            "at": NOW - 90,
            "settled_at": done,
            "next_at": None if done else NOW + 20,
            "tries": 1,
            "error": "",
        }
        return {"state": state, "text": text} | usual | more  # fmt: skip

    away = "the webhook cannot be reached (ConnectionRefusedError)"
    return {
        "at": time.time(),
        "say": ["2 problems need you. 1 more alert. 1 alert acknowledged.",
                "night does not take notifications: 1 notification waits."],
        "alerts": [
            one | {"id": f"{one['kind']}:{one['job']}:{one['who']}",
                   "ways": [*one["ways"], _way("Acknowledge", action="acknowledge")]}
            for one in TROUBLES
        ],
        "acknowledged": [
            TROUBLES[0] | {"id": "trap:news-12:news-12", "kind": "trap", "severity": "takes_care",
                           "text": f"{HOSTILE[0]} news-12 leaves 1,204 links out."}
        ],
        "targets": [
            {"name": "ops", "kind": "webhook", "severities": ["needs_you", "takes_care"], "waiting": 0,
             "sent_at": NOW - 60, "error": ""},
            {"name": LONG_HOST[:60], "kind": "email", "severities": ["needs_you"], "waiting": 1,
             "sent_at": None, "error": away},
        ],
        "notices": [
            notice("waiting", TROUBLES[1]["text"], target=LONG_HOST[:60], tries=7, error=away),
            notice("sent", TROUBLES[0]["text"]),
            notice("sent", f"Over: {LONG_URL[:190]}", change="ended", job=""),
            notice("failed", HOSTILE[1], tries=40, error=f"no delivery succeeded within 3 days; {away}"),
        ],
        "is_watched": True,
        "checked_at": NOW - 3,
    }  # fmt: skip


def overview(query: dict[str, str]) -> dict[str, Any]:
    vitals = [
        ("pages", "412/s", "of 707/s allowed", 412),
        ("in_flight", "477", "requests", 470),
        ("failed", "3.1%", "of attempts", 0.03),
        ("p95", "412 ms", "", 410),
        ("workers", "14 of 15", "at work", 15),
        ("store_lag", "40 ms", "PostgreSQL", 40),
    ]
    shown = JOBS if query.get("show") != "ended" else []
    return {
        "at": time.time(),
        "say": [
            "Two jobs need you. The other five take care of themselves.",
            "412 pages/s on 7 running jobs; their hosts allow 707/s. The next to finish is docs-31.",
        ],
        "troubles": TROUBLES,
        "more_troubles": 2,
        "open": 9,
        "ended": 31,
        "next_cursor": None,
        "jobs": shown,
        "vitals": [
            {"name": name, "text": text, "more": more, "values": wander(name, 60, base)}
            for name, text, more, base in vitals
        ],
        "rail": {"needs": 2, "workers": {"all": 15, "at_work": 14, "silent": 1}, "proxies_dead": 1},
    }


def job(number: str) -> dict[str, Any] | None:
    found = next((one for one in JOBS if one["job"] == number), None)
    if found is None:
        return None
    return found | {
        "at": time.time(),
        "say": [
            f"{number} goes as fast as its hosts allow and is done at about 16:40, in 2h 08m.",
            "214 of 222 pages/s that they allow. 589,624 requests wait. The last host is lamps.example, with "
            "768 requests 10 s apart, as its robots.txt asks; all others are through by 16:16.",
        ],
        "troubles": [one for one in TROUBLES if one["job"] == number],
        "more_troubles": 0,
        "shifts": 11,
        "more_workers": 0,
        "store_lag_s": 0.04,
        "due": [
            ["now", 12_849],
            ["within 1 min", 41_849],
            ["within 10 min", 154_429],
            ["within 1 h", 353_655],
            ["later", 26_642],
        ],
        "stats": {"sold out": 18_204, "dearest": 4_999.5, "<b>of a stranger</b>" + "-long" * 20: 1}
        if number == "shops-7"
        else {},
        "budgets": [
            {
                "name": "Pages",
                "setting": "max_pages",
                "used": 1_204_551,
                "limit": 3_000_000,
                "note": "At this pace spent at 16:51, after the end.",
            }
        ],
        "errors": [
            {"reason": "server", "text": "503 of api.shop.example", "count": 8870},
            {"reason": "throttled", "text": "429 at 22 hosts", "count": 4310},
        ],
        "slowest": [
            {"host": "lamps.example", "pending": 768, "delay_s": 10.0, "empties_s": 7680.0},
            {"host": LONG_HOST, "pending": 118, "delay_s": 0.9, "empties_s": 106.0},
        ],
        "changes": [
            {
                "id": 7,
                "at": NOW - 1440,
                "who": "token ops",
                "what": "per_host 2 → 1",
                "undo_until": NOW + 900,
                "undone_at": None,
            },
            {
                "id": 3,
                "at": NOW - 6130,
                "who": "schedule shops-eu",
                "what": "started",
                "undo_until": None,
                "undone_at": None,
            },
        ],
    }


def series(_query: dict[str, str]) -> dict[str, Any]:
    names = {
        "pages": 214,
        "p50": 0.128,
        "p95": 0.41,
        "2xx": 200,
        "3xx": 9,
        "4xx": 6,
        "5xx": 9,
        "none": 0.8,
    }
    values: dict[str, list[float | None]] = {
        name: list(wander(name, 180, base)) for name, base in names.items()
    }
    values["allowed"] = [250.0] * 96 + [238.0] * 84
    for line in values.values():
        line[66:71] = [None] * 5
    until = time.time()
    return {
        "at": until,
        "step_s": 20,
        "since": until - 180 * 20,
        "until": until,
        "series": values,
        "marks": [
            {"at": until - 3120, "kind": "dead", "text": "api.shop.example begins to fail"},
            {"at": until - 1440, "kind": "person", "text": "per_host 2 → 1, token ops"},
        ],
        "gaps": [{"since": until - 114 * 20, "until": until - 109 * 20, "text": "no data: supervisor away"}],
    }


def _host(name: str, **more: Any) -> dict[str, Any]:
    return {
        "host": name,
        "pending": 100,
        "delayed": 0,
        "in_flight": 1,
        "per_host": 2,
        "delay_s": 0.2,
        "why": "adaptive",
        "why_text": "follows its answers (120 ms)",
        "hold_until": 0.0,
        "next_at": NOW + 0.2,
        "success": 0.998,
        "p50_s": 0.12,
        "p95_s": 0.31,
        "rung": "http",
        "pages": 1200,
        "dead": 0,
        "incidents": 0,
        "silences": 0,
        "allowed_per_s": 5.0,
        "started_per_s": 4.8,
        "empties_s": 20.0,
    } | more


HOSTS = [
    _host("www.fabrics.example", pending=41_204, delay_s=0.12, empties_s=4944.0),
    _host(
        "gadgets.example.com",
        pending=31_002,
        why="retry_after",
        why_text="asked for time (600 s)",
        hold_until=NOW + 480,
        allowed_per_s=0.0,
        empties_s=None,
    ),
    _host(
        "api.shop.example",
        pending=22_104,
        delayed=9870,
        why="backoff",
        why_text="backs off after 6 incidents",
        hold_until=NOW + 160,
        success=0.041,
        allowed_per_s=0.0,
        empties_s=None,
        dead=1204,
        incidents=6,
    ),
    _host("xn--bcher-kva.example", pending=12_311),
    _host(
        "lamps.example",
        pending=768,
        delay_s=10.0,
        why="robots",
        why_text="robots.txt asks for 10 s",
        empties_s=7680.0,
    ),
    _host(
        "silent.example",
        pending=4418,
        why="down",
        why_text="silent 7 times of 8",
        hold_until=NOW + 230,
        success=0.0,
        p50_s=None,
        p95_s=None,
        allowed_per_s=0.0,
        empties_s=None,
    ),
    _host("secure.example.com", rung="browser", pending=2204),
    _host(LONG_HOST, pending=118),
    *(_host(f"shop.rugs-{n:03}.example.net", pending=4000 - n * 37) for n in range(42)),
]


def hosts(query: dict[str, str]) -> dict[str, Any]:
    found = [one for one in HOSTS if query.get("q", "") in one["host"]]
    return {
        "at": time.time(),
        "say": [
            "3 of 312 hosts with work are held. lamps.example decides when the job ends, in 2h 08m.",
            "One asked for time, one backs off, one is silent; their 57,524 pending requests wait.",
        ],
        "hosts": found,
        "total": 312 if not query.get("q") else len(found),
        "totals": {"work": 312, "held": 3, "slow": 35, "rung": 13},
        "next_cursor": None,
    }


def host(name: str) -> dict[str, Any] | None:
    found = next((one for one in HOSTS if one["host"] == name), None)
    if found is None:
        return None
    return found | {
        "say": [
            "It answers 503 to nearly everything since 13:40:02.",
            "After 6 incidents it is on hold; then one request is tried, and the hold doubles if that fails.",
        ],
        "robots": {"read_at": NOW - 6000, "crawl_delay_s": None},
    }


def fleet() -> dict[str, Any]:
    made = random.Random("fleet")
    workers = []
    for machine, many in (("crawl-1", 4), ("crawl-2", 4), ("crawl-3", 4), ("browse-1", 2)):
        for n in range(many):
            silent = machine == "crawl-3" and n == 1
            pid = 8752 if silent else made.randint(1200, 9800)
            shifts = [
                {
                    "id": f"s{n}{i}",
                    "job": made.choice(["shops-7", "archive-2", "news-12"]),
                    "lane": "http",
                    "age_s": 12.0,
                    "pages": 210,
                    "in_flight": 14,
                }
                for i in range(0 if silent else 2)
            ]
            workers.append(
                {
                    "id": f"{machine}:{pid}",
                    "host": machine,
                    "pid": pid,
                    "slots": 2,
                    "lanes": ["http", "seed"],
                    "state": "draining" if (machine, n) == ("crawl-2", 3) else "working",
                    "is_silent": silent,
                    "unseen_s": 42.0 if silent else 0.8,
                    "version": "0.4.1",
                    "memory_bytes": made.randint(142, 900) * 10**6,
                    "in_flight": 28 if shifts else 0,
                    "pages_per_s": 31.0 if shifts else 0.0,
                    "shifts": shifts,
                }
            )
    return {
        "at": time.time(),
        "say": [
            "14 of 15 workers are at work; one is silent, and 10 more would have something to do.",
            "26 shifts on 28 slots. crawl-1:311 leads, one supervisor stands by.",
        ],
        "troubles": TROUBLES[2:],
        "workers": workers,
        "slots": 28,
        "slots_free": 2,
        "wants": [
            {
                "job": "archive-2",
                "shifts": 8,
                "more": 19,
                "why": "276,516 requests may start now, all slots are busy",
            },
            {"job": "shops-7", "shifts": 9, "more": 0, "why": "its hosts allow no more"},
        ],
        "ends": [
            {
                "id": "e1",
                "at": NOW - 31,
                "job": "shops-7",
                "why": "lost",
                "detail": "no beat for 10 s; 28 leases were taken back",
                "pages": 312,
                "worker": "crawl-3:8752",
            },
            {
                "id": "e2",
                "at": NOW - 3,
                "job": "archive-2",
                "why": "time",
                "detail": "",
                "pages": 871,
                "worker": "crawl-2:4471",
            },
        ],
    }


SLOWER = "They ask for fewer requests: the pace follows them, and nothing is lost."


def errors(_query: dict[str, str]) -> dict[str, Any]:
    def group(reason: str, title: str, count: int, dead: int, **more: Any) -> dict[str, Any]:
        return {
            "reason": reason,
            "title": title,
            "count": count,
            "hosts": 1,
            "dead": dead,
            "first_at": NOW - 3100,
            "last_at": NOW - 4,
            "hours": [round(v) for v in wander(reason, 24, count / 24, 0.5)],
            "fate": "tried again with back-off, then dead",
            "advice": "It hits all of its pages, and no other host's: wait until it answers, then retry.",
            "detail": "503 Service Unavailable",
            "samples": [{"url": LONG_URL, "status": 503, "at": NOW - 4, "detail": HOSTILE[1]}],
        } | more

    return {
        "at": time.time(),
        "say": [
            "One host makes half of all failures: api.shop.example answers 503 since 13:40.",
            "17,501 of 1,342,118 attempts failed (1.3%). 61 are of one line of shops.py.",
        ],
        "groups": [
            group("server", "503 of api.shop.example", 8870, 1204, host="api.shop.example"),
            group(
                "throttled", "429 at 22 hosts", 4310, 0, hosts=22, advice=SLOWER, detail="Too Many Requests"
            ),
            group("callback", HOSTILE[0], 61, 61, hosts=3),
        ],
        "left_out": [
            {"reason": "gone", "text": "gone (404, 410)", "count": 31_402},
            {"reason": "robots", "text": "robots.txt says no", "count": 12_004},
        ],
    }


BAD = ("api.shop.example", "dc-eu-02")


def heat(query: dict[str, str]) -> dict[str, Any]:
    made, hour = random.Random("heat"), math.floor(time.time() / 3600) * 3600
    names = (
        ["api.shop.example", "gadgets.example.com", LONG_HOST, "tv.example"]
        if query.get("by") != "proxy"
        else ["dc-eu-01", "dc-eu-02"]
    )
    return {
        "at": time.time(),
        "hours": [hour - (23 - n) * 3600 for n in range(24)],
        "rows": [
            {
                "name": name,
                "is_rest": False,
                "cells": [
                    [2204, 3900] if name in BAD and n > 20 else [made.choice([0, 3, 9, 40, 180]), 2800]
                    for n in range(24)
                ],
            }
            for name in names
        ]
        + [{"name": "84 other hosts", "is_rest": True, "cells": [[1, 5], [30, 2800]] * 12}],
    }


def _tries(reason: str = "server", many: int = 3) -> list[dict[str, Any]]:
    return [
        {
            "at": NOW - 60 * (many - n),
            "url": LONG_URL,
            "fingerprint": "00ff",
            "verdict": "dead" if n == many - 1 else "retry",
            "reason": reason,
            "detail": TRACEBACK if reason == "callback" else "503 Service Unavailable",
            "attempt": n + 1,
            "status": 503,
            "size_bytes": 1204,
            "elapsed_ms": 84.0,
            "worker": "crawl-1:2210",
            "rung": "http",
            "proxy": "",
        }
        for n in range(many)
    ]


def _letter(number: int) -> dict[str, Any]:
    reasons = ["server", "server", "callback", "client", "dns"]
    url = (
        LONG_URL
        if number % 7 == 0
        else f"https://api.shop.example/v2/products/{number}"
        + ("\u202efdp.exe?name=<b>%3Cscript%3E" if number % 9 == 0 else "")
    )
    return {
        "id": number,
        "url": url,
        "host": "api.shop.example",
        "reason": reasons[number % 5],
        "reason_text": words_for(reasons[number % 5]),
        "attempts": 4,
        "died_at": NOW - (1320 - number) * 11,
        "method": "GET",
        "headers": {"accept-language": "de"},
        "body": "",
        "body_bytes": 0,
        "callback": "parse_product",
        "meta": {"region": "eu"},
        "priority": 1,
        "depth": 3,
        "via": "https://www.fabrics.example/c/table-linen?page=7",
        "session": "",
    }


def dead(query: dict[str, str]) -> dict[str, Any]:
    letters = [
        one
        for one in map(_letter, range(1316, 1266, -1))
        if query.get("reason", one["reason"]) == one["reason"] and query.get("q", "") in one["url"]
    ]
    return {
        "at": time.time(),
        "letters": letters,
        "total": 1312,
        "by_reason": {"server": 1204, "callback": 61, "client": 22, "dns": 12, "tls": 13},
        "next_cursor": "1266",
    }


ENDS = [
    *[("success", "", 200)] * 3,
    ("retry", "server", 503),
    ("skipped", "gone", 404),
    ("retry", "timeout_headers", 0),
]


def attempts(query: dict[str, str]) -> dict[str, Any]:
    made = random.Random("attempts")
    rows = [
        {
            "at": NOW - n * 0.3,
            "url": LONG_URL if n == 4 else f"https://{made.choice(HOSTS)['host']}/p/{n}",
            "id": 90_000 - n,
            "fingerprint": f"{n:016x}",
            "verdict": verdict,
            "reason": reason,
            "detail": "",
            "attempt": 1,
            "status": status,
            "size_bytes": 48_000,
            "elapsed_ms": 131.0,
            "worker": "crawl-1:2210",
            "rung": "http",
            "proxy": "",
        }
        for n in range(50)
        for verdict, reason, status in [made.choice(ENDS)]
    ]
    return {
        "at": time.time(),
        "attempts": [one for one in rows if query.get("verdict", one["verdict"]) == one["verdict"]],
        "total": 1_342_118,
        "next_cursor": "x",
    }


def items(query: dict[str, str]) -> dict[str, Any]:
    rows = [
        {
            "id": 640_632 - n,
            "type": "Product",
            "key": f"G{n}-{n * 37:06}",
            "data": {
                "sku": f"G{n}",
                "name": HOSTILE[n % len(HOSTILE)] if n % 3 == 0 else "Brass table lamp",
                "price": None if n % 9 == 5 else "24.90",
                "currency": "EUR",
                "in_stock": True,
                "brand": "Muster",
            },
            "url": LONG_URL if n == 6 else f"https://www.fabrics.example/p/{n}",
            "first_seen": NOW - 9000,
            "last_seen": NOW - 30,
            "changed_at": NOW - 40 * n,
        }
        for n in range(50)
    ]
    return {
        "at": time.time(),
        "items": rows,
        "total": 640_632,
        "types": [["Product", 598_110], ["Offer", 41_204]],
        "formats": ["jsonl", "json", "csv"],
        "next_cursor": "x",
    }


QUALITY_FIELDS = (
    # name, fill, usual, values, wrong, dropped, different, numbers, lengths
    ("sku", 1.0, 1.0, "text", 0, 0, 500, (None, None), (3, 9)),
    ("name", 0.9998, 1.0, "text", 0, 0, 498, (None, None), (3, 214)),
    ("price", 0.42, 0.996, "decimal", 12, 1204, 189, (0.5, 12_904.0), (4, 8)),
    ("currency", 1.0, None, "text", 0, 0, 8, (None, None), (3, 3)),
    ("in_stock", 0.998, 0.998, "boolean", 0, 0, 2, (None, None), (None, None)),
    ("tags", 0.41, 0.4, "list", 0, 0, 77, (None, None), (1, 12)),
    ("a_name_that_is_as_long_as_somebody_may_make_it", 0.0, 0.0, "", 0, 0, 0, (None, None), (None, None)),
    *((f"field_{n}", 0.9, 0.91, "text", 0, 0, 400, (None, None), (0, 41_203)) for n in range(9)),
)


def quality() -> dict[str, Any]:
    worse = "58% of the items of shops-7 have no Product.price; in 2 earlier jobs, 99% had it."
    where = f"It began at 13:02 with {LONG_URL[:160]}."
    known = ("type", "field", "fill", "usual_fill", "kind", "wrong", "dropped", "distinct")
    finding = {"since": 0.0, "url": "", "place": "", "count": 100, "jobs": 2}
    return {
        "job": "shops-7",
        "at": NOW - 12,
        "say": [worse, f"{where} 640,632 items of 1,204,551 pages, 1,217 items dropped."],
        "pages": 1_204_551,
        "items": 640_632,
        "sampled": 500,
        "dropped": 1217,
        "score": 0.834,
        "jobs": ["shops-6", "shops-5"],
        "fields": [
            {
                **dict(zip(known, ("Offer" if one[0] == "tags" else "Product", *one[:7]), strict=True)),
                **dict(zip(("least", "most", "shortest", "longest"), (*one[7], *one[8]), strict=True)),
                "items": 500,
                "filled": round(500 * one[1]),
                "errors": 0.1,
            }
            for one in QUALITY_FIELDS
        ],
        "more_fields": 3,
        "worst": [{"type": "Product", "key": HOSTILE[0], "url": LONG_URL, "score": 0.4, "lacks": ["price"]}],
        "findings": [
            {
                **finding,
                "kind": "fill",
                "field": "Product.price",
                "usual": 0.996,
                "now": 0.42,
                "since": NOW - 5400,
                "url": LONG_URL,
                "text": f"{worse} {where}",
            },
            {
                **finding,
                "kind": "no_items",
                "field": "",
                "usual": 1.0,
                "now": 0.2,
                "text": "shops-7 has 0.2 items a page; in 2 earlier jobs, it had 1.",
            },
        ],
        "drops": [
            {"reason": reason, "items": n, "sample": {**_dropped(n), "reason": reason, "stage": stage}}
            for n, reason, stage in ((1204, "Product.price: not a number", ""), (13, HOSTILE[0], "no_vases"))
        ],
    }


def _dropped(n: int) -> dict[str, Any]:
    value = HOSTILE[n % len(HOSTILE)][:80]
    return {"type": "Product", "url": LONG_URL, "at": NOW - 90, "value": value, "data": {}}


def explain(query: dict[str, str]) -> dict[str, Any]:
    return {
        "url": query["url"],
        "method": "GET",
        "canonical": query["url"],
        "duplicate_of": None,
        "job": "shops-7",
        "job_state": "running",
        "answer": "dead",
        "page_answer": "dead",
        "lines": [
            "It was given up 8 s ago after 3 attempts: an error of the server (server).",
            "All pages of api.shop.example answer 503 since 13:40:02; it is not this page.",
        ],
        "state": "dead",
        "scope_known": True,
        "refused": "",
        "due_at": None,
        "host_next_at": None,
        "leased_at": None,
        "deadline": None,
        "process": None,
        "dead_letter": 1309,
        "attempts": 3,
        "status": 503,
        "reason": "server",
        "last_at": NOW - 8,
        "items": 2,
        "found_items": items(query)["items"][:2],
        "dropped_items": [{**_dropped(2), "reason": "Product.price: not a number", "stage": ""}],
        "left_out": {},
        "tries": _tries(),
        "other_requests": [],
        "rung": "impersonate",
        "rung_why": "403 to plain clients",
        "rung_since": NOW - 4000,
        "probe_at": None,
        "via": [
            {"url": "https://www.fabrics.example/", "how": "seed", "at": NOW - 6000},
            {"url": query["url"], "how": "link", "at": NOW - 5000},
        ],
    }


def settings() -> dict[str, Any]:
    def row(key: str, value: Any, layer: str = "default", **more: Any) -> dict[str, Any]:
        return {
            "key": key,
            "value": value,
            "layer": layer,
            "origin": "",
            "instead_of": [],
            "meaning": "Requests in flight at one host.",
            "is_live": "." not in key,
        } | more

    return {
        "at": time.time(),
        "settings": [
            row("delay", None),
            row(
                "per_host",
                1,
                "changed while running",
                origin="token ops, 14:08:10",
                instead_of=[{"layer": "command line", "value": 2}],
            ),
            row("max_pages", 3_000_000, "command line", origin="--max-pages 3000000"),
            row("exclude", ["/search\\?", "/calendar/"], "file", origin="gossamer.toml"),
            row("http.headers", {"authorization": "••••"}, "environment"),
            row("http.max_size_bytes", 33_554_432),
            row("store.url", "postgresql://gossamer:••••@db.example/gossamer", "environment"),
        ],
    }


def proxies() -> dict[str, Any]:
    return {
        "at": time.time(),
        "proxies": [
            {
                "name": f"dc-eu-{n:02}",
                "provider": "dc",
                "kind": "datacenter",
                "country": "DE",
                "answers": 3000 - n * 100,
                "blocks": 4 * n,
                "failures": 900 if n == 5 else n,
                "latency_s": 0.2,
                "quarantines": n,
                "quarantined_until": NOW + 1200 if n == 5 else None,
                "blocked_hosts": [{"host": "tv.example", "until": NOW + 900}] if n % 3 == 0 else [],
            }
            for n in range(1, 9)
        ],
        "may_steer": True,
    }


def schedules() -> dict[str, Any]:
    chance = random.Random(14)

    def card(name: str, cron: str, words: str, target: str, *outcomes: str, **more: Any) -> dict[str, Any]:
        runs = ["finished"] * (14 - len(outcomes)) + list(outcomes)
        return {
            "name": name,
            "words": words,
            "cron": cron,
            "zone": "Europe/Berlin",
            "target": target,
            "is_on": True,
            "is_here": True,
            "next_at": NOW + 780.0,
            "next_there": "Mon 11-23 14:45",
            "expected_s": 2400.0,
            "last_job": f"{name}-41",
            "note": "",
            "runs": [
                {
                    "due_at": NOW - 86_400.0 * (14 - place),
                    "outcome": outcome,
                    "seconds": None if outcome in ("missed", "skipped") else 2000.0 + chance.random() * 2000,
                }
                for place, outcome in enumerate(runs)
            ],
            "starts": [780 + 3600 * n for n in range(24)],
        } | more

    hostile = f"https://{LONG_HOST}/"
    return {
        "at": time.time(),
        "say": ["The next crawl is sitemaps, at 14:45 on 2026-11-23 (UTC).", "5 of 6 schedules are on."],
        "is_watched": True,
        "has_more": True,
        "schedules": [
            card("shops", "50 12 * * *", "At 12:50 every day", "shops.py:Shops", "running", starts=[80_000]),
            card("news", "58 * * * *", "At minute 58 of every hour", "news", "skipped", expected_s=4000.0),
            card("boards", "14 9 * * 1-5", "At 09:14 on Monday through Friday", hostile, "failed",
                 is_on=False, next_at=None, next_there="", starts=[], note=HOSTILE[0] + HOSTILE[8][:80]),
            card("sitemaps", "*/15 * * * *", "Every 15th minute of every hour", "https://www.example.com/s.xml",
                 "missed", "missed", zone="UTC", starts=[900 * n for n in range(96)], expected_s=60.0),
            card("far", "0 0 1 1 *", "At 00:00 on January 1", "far.py", is_here=False, runs=[], starts=[],
                 last_job="", expected_s=None, zone="America/Argentina/ComodRivadavia"),
        ],
    }  # fmt: skip


ME = {
    "name": "ops",
    "role": "operate",
    "is_session": True,
    "is_local": False,
    "version": "0.4.1",
    "fleet": "default",
    "requests": "redis://queue.example:6379/0",
    "store": "postgresql://db.example/gossamer",
    "has_proxies": True,
}


def answer(path: str, query: dict[str, str]) -> Any:
    """The answer to a question of the page; ``None``: there is none."""
    plain = {
        "/me": lambda: ME,
        "/overview": lambda: overview(query),
        "/alerts": alerts,
        "/fleet": fleet,
        "/proxies": proxies,
        "/schedules": schedules,
        "/explain": lambda: explain(query),
        "/jobs": lambda: {
            "jobs": [
                {"job": one["job"], "state": one["state"]} for one in JOBS if query.get("q", "") in one["job"]
            ]
        },
    }
    if path in plain:
        return plain[path]()
    parts = path.strip("/").split("/")
    if parts[0] != "jobs" or job(parts[1]) is None:
        return None
    if len(parts) == 2:
        return job(parts[1])
    if len(parts) == 4:
        found = {
            "hosts": lambda: host(parts[3]),
            "errors": lambda: heat(query),
            "dead": lambda: _letter(int(parts[3])) | {"tries": _tries(_letter(int(parts[3]))["reason"])},
        }.get(parts[2])
    else:
        found = {
            "series": lambda: series(query),
            "hosts": lambda: hosts(query),
            "errors": lambda: errors(query),
            "dead": lambda: dead(query),
            "attempts": lambda: attempts(query),
            "items": lambda: items(query),
            "quality": quality,
            "settings": settings,
        }.get(parts[2])
    return found() if found else None
