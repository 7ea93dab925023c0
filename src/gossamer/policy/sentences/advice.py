"""One sentence for each fault that says what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gossamer.core.errors import Fault


def check_advice(rows: Mapping[Fault, str], faults: Iterable[Fault]) -> Mapping[Fault, str]:
    """The rows, if each fault has one; raises ``LookupError`` that names the others."""
    if missing := [fault.name for fault in faults if not rows.get(fault)]:
        raise LookupError(f"faults without advice in gossamer.policy.sentences.advice: {', '.join(missing)}")
    return rows


_WAIT = "Nothing is lost: it is tried again by itself."

ADVICE: Mapping[Fault, str] = check_advice(
    {
        Fault.DNS: "Names that do not exist stay so: drop the letters, or mend the links that lead there.",
        Fault.DNS_TEMPORARY: f"{_WAIT} If it hits many hosts, look at this machine's name server.",
        Fault.CONNECT: f"{_WAIT} If it hits many hosts, look at the network of the workers.",
        Fault.LOCAL: "Look at the worker's machine: it is out of ports, of files or of network.",
        Fault.TLS: "If you trust these hosts, name them in http.insecure_hosts and retry the letters.",
        Fault.TIMEOUT_CONNECT: f"{_WAIT} If it hits many hosts, look at the network of the workers.",
        Fault.TIMEOUT_HEADERS: f"{_WAIT} For hosts that are just slow, raise http.headers_timeout.",
        Fault.TIMEOUT_BODY: "For pages that are just large or slow, raise http.total_timeout.",
        Fault.INCOMPLETE: "Mostly the second try is complete; else the server announces a wrong length.",
        Fault.PROTOCOL: "Look at an attempt: the answering program is not a web server, or a broken one.",
        Fault.TOO_LARGE: (
            "If you want these bodies, raise http.max_size_bytes (for files: files.max_bytes), then retry "
            "the letters. A header that is too large stays refused, as in browsers."
        ),
        Fault.BAD_ENCODING: "Look at an attempt: the server misnames how its answer is compressed.",
        Fault.BAD_REDIRECT: "The site's links are broken: drop the letters.",
        Fault.REDIRECT_LIMIT: "Mostly the site wants a cookie or a log-in: open one of the URLs by hand.",
        Fault.GUARD: "If the host may be asked, name it in the target or the settings, then retry.",
        Fault.BAD_URL: "The links are broken: drop the letters.",
        Fault.NOT_ARCHIVED: "Fetch the page from its site, or leave it out.",
        Fault.THROTTLED: "Nothing is lost. A longer min_delay, or per_host = 1, asks less from the start.",
        Fault.GATEWAY: "Mostly the site has more to do than it can: a longer min_delay helps it.",
        Fault.SERVER: "If other hosts are well, it is this site: wait until it answers again, then retry.",
        Fault.CLIENT: (
            'If it is a block, let the host climb the ladder (fetch = "auto"), then retry the letters.'
        ),
        Fault.GONE: "Nothing is to be done: the pages are not there.",
        Fault.ROBOTS: "Nothing is to be done: the site does not want these pages fetched.",
        Fault.ROBOTS_UNREACHABLE: f"{_WAIT} Without its robots.txt a site is not asked for pages.",
        Fault.HOST_DOWN: "See whether the host is there and its name is right, then retry the letters.",
        Fault.HOST_LOST: "When the host is back, retry the letters.",
        Fault.OUT_OF_SCOPE: "If these pages are wanted, widen include or the hosts of the spider.",
        Fault.BLOCKED: (
            'Ask less often, or let the host climb the ladder (fetch = "auto"), then retry the letters.'
        ),
        Fault.LOGGED_OUT: "See whether the log-in still works: the account may be locked.",
        Fault.PROXY: "See `gossamer proxies`: remove dead ones from the list.",
        Fault.PROXY_ANSWER: "See `gossamer proxies test URL`: it says whose answers differ.",
        Fault.BROWSER: "If it comes again, give the worker more memory or fewer tabs (browser.pages).",
        Fault.PAGE_CRASH: "Raise browser.max_memory_mb, or fetch these pages without a browser.",
        Fault.SERVICE: "See the gateway's own status page; it is tried again by itself.",
        Fault.SERVICE_FAILED: "Another gateway or rung may get these pages.",
        Fault.UNWANTED: "Add their types to files.types if these files are wanted.",
        Fault.IGNORED: "If these pages are wanted, see why the hook raises IgnoreRequest for them.",
        Fault.BUDGET: "Raise the host's budget if these pages are wanted.",
        Fault.TRAP: "If these pages are wanted, raise traps.max_worthless, and see `gossamer report traps`.",
        Fault.MISSING: "See a page: the site changed its markup, or the requirement is too strict.",
        Fault.CALLBACK: "Mend the spider where its traceback says, then retry the letters.",
        Fault.CALLBACK_TIMEOUT: "Find the cause of its wait, or raise parse.callback_timeout, then retry.",
        Fault.PIPELINE: "Fix the step, or restore the service it needs, then retry the letters.",
        Fault.HOOK: "Give the hook what it needs, such as a token; then retry the letters.",
        Fault.PARSE_TIMEOUT: "Raise parse.timeout or parse.max_memory_mb, then retry the letters.",
        Fault.PARSE_INTERRUPTED: "If it comes again, give the worker's machine more memory.",
        Fault.UNREADABLE: "Drop the letters; their URLs are found again by a new job.",
        Fault.INTERNAL: "Report it with the traceback of an attempt: it is a mistake in Gossamer.",
        Fault.EXPIRED: "See why workers end or stall; a page that kills its worker is given up by itself.",
    },
    Fault,
)
"""The advice for each fault. A new fault needs a row here."""
