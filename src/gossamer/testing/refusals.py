"""Block pages with the marks of well-known vendors, and good pages that look similar.

All are made here; only the marks are the vendors'. They test the detection of Gossamer and the ``is_blocked``
of spiders; a test site serves one with ``refusal("datadome")``.
"""

from __future__ import annotations

from dataclasses import dataclass

from gossamer.core.routes import BlockKind
from gossamer.testing.answers import SiteResponse

_FILLER = b"var t=" + b"1;for(var i=0;i<9;i++){t=t*31+i}" * 40


@dataclass(frozen=True, slots=True)
class Refusal:
    """One kind of page that refuses."""

    kind: BlockKind
    answer: SiteResponse
    is_certain: bool = True


def _page(title: str, body: str, *, script: bytes = b"") -> bytes:
    scripts = b"<script>" + script + b"</script>" if script else b""
    return (
        b"<!DOCTYPE html><html><head><meta charset='utf-8'><title>%b</title>%b</head><body>%b</body></html>"
        % (title.encode(), scripts, body.encode())
    )


def _answer(status: int, body: bytes, *headers: tuple[str, str], kind: str = "text/html") -> SiteResponse:
    return SiteResponse(status, body, kind, headers)


_JSON = "application/json"

REFUSALS: dict[str, Refusal] = {
    "cloudflare": Refusal(
        BlockKind.CLOUDFLARE,
        _answer(
            403,
            _page(
                "Just a moment...",
                "<noscript>Enable JavaScript and cookies to continue</noscript>",
                script=b"window._cf_chl_opt={cvId:'3'};" + _FILLER,
            ),
            ("cf-mitigated", "challenge"),
            ("server", "cloudflare"),
        ),
    ),
    "cloudflare_503": Refusal(
        BlockKind.CLOUDFLARE,
        _answer(
            503,
            _page("Just a moment...", "Checking your browser", script=b"window._cf_chl_opt={};"),
            ("server", "cloudflare"),
        ),
    ),
    "cloudflare_blocked": Refusal(
        BlockKind.CLOUDFLARE,
        _answer(
            403,
            _page("Attention Required! | Cloudflare", "<h1>Sorry, you have been blocked</h1>"),
            ("server", "cloudflare"),
        ),
    ),
    "akamai": Refusal(
        BlockKind.AKAMAI,
        _answer(
            403,
            _page("Access Denied", "You don't have permission. Reference&#32;&#35;18&#46;2d351ab8"),
            ("server", "AkamaiGHost"),
        ),
    ),
    "akamai_challenge": Refusal(
        BlockKind.AKAMAI,
        _answer(
            200,
            _page("", "<div id='sec-if-cpt-container'></div><script src='/_sec/cp_challenge/a.js'></script>"),
        ),
    ),
    "akamai_interstitial": Refusal(
        BlockKind.AKAMAI,
        _answer(200, _page("", "<script>location='/?bm-verify=AAQ'</script>")),
    ),
    "datadome": Refusal(
        BlockKind.DATADOME,
        _answer(
            403,
            _page(
                "",
                "<script src='https://ct.captcha-delivery.com/c.js'></script>",
                script=b"var dd={'rt':'c'}",
            ),
            ("x-datadome", "protected"),
        ),
    ),
    "datadome_json": Refusal(
        BlockKind.DATADOME,
        _answer(403, b'{"url":"https://geo.captcha-delivery.com/captcha/?cid=1"}', kind=_JSON),
    ),
    "datadome_header": Refusal(
        BlockKind.DATADOME, _answer(403, b"", ("x-datadome", "protected")), is_certain=False
    ),
    "human": Refusal(
        BlockKind.HUMAN,
        _answer(
            403,
            _page(
                "Access to this page has been denied",
                "<div id='px-captcha'></div><p>Press &amp; Hold</p>",
                script=b"window._pxAppId='PXtest';" + _FILLER,
            ),
        ),
    ),
    "human_json": Refusal(
        BlockKind.HUMAN,
        _answer(403, b'{"appId":"PXtest","blockScript":"/captcha/captcha.js","vid":""}', kind=_JSON),
    ),
    "human_200": Refusal(
        BlockKind.HUMAN,
        _answer(200, _page("Human verification", "<script src='//captcha.px-cdn.net/PX/c.js'></script>")),
    ),
    "imperva": Refusal(
        BlockKind.IMPERVA,
        _answer(
            200,
            _page(
                "",
                "<iframe id='main-iframe' src='/_Incapsula_Resource?CWUDNSAI=1&incident_id=7'>"
                "Request unsuccessful. Incapsula incident ID: 7</iframe>",
            ),
            ("x-iinfo", "1-2-3"),
        ),
    ),
    "imperva_interruption": Refusal(
        BlockKind.IMPERVA,
        _answer(403, _page("Pardon Our Interruption", "As you were browsing something made us think ...")),
    ),
    "aws_waf": Refusal(
        BlockKind.AWS_WAF,
        _answer(
            202,
            _page(
                "", "<script src='https://a.token.awswaf.com/challenge.js'></script>", script=b"gokuProps={}"
            ),
            ("x-amzn-waf-action", "challenge"),
        ),
    ),
    "aws_waf_captcha": Refusal(
        BlockKind.AWS_WAF, _answer(405, _page("Human Verification", ""), ("x-amzn-waf-action", "captcha"))
    ),
    "kasada": Refusal(
        BlockKind.KASADA,
        _answer(
            429,
            _page("", "<script src='/149e/ips.js'></script>", script=b"window.KPSDK={};KPSDK.scriptStart=1"),
            ("x-kpsdk-ct", "0a"),
        ),
    ),
    "captcha": Refusal(
        BlockKind.CAPTCHA,
        _answer(403, _page("One more step", "<div class='g-recaptcha'></div>")),
    ),
    "captcha_200": Refusal(
        BlockKind.CAPTCHA,
        _answer(
            200,
            _page(
                "Robot Check",
                "<p>Sorry, we just need to make sure you're not a robot.</p>"
                "<form action='/errors/validateCaptcha'><input name='field-keywords'></form>",
                script=b"var a=1",
            ),
        ),
    ),
    "sensor": Refusal(
        BlockKind.HUMAN,
        _answer(403, _page("Members only", "Please join us.", script=b"window._pxAppId='PX1'")),
        is_certain=False,
    ),
    "words": Refusal(
        BlockKind.WORDS,
        _answer(403, _page("Forbidden", "Your request was blocked: unusual traffic.")),
        is_certain=False,
    ),
    "words_200": Refusal(BlockKind.WORDS, _answer(200, _page("Access denied", "Sorry.")), is_certain=False),
    "status": Refusal(BlockKind.STATUS, _answer(403, b"no", kind="text/plain"), is_certain=False),
    "status_999": Refusal(BlockKind.STATUS, _answer(999, b"", kind="text/plain"), is_certain=False),
}
"""A page for each mark, by name."""

_ARTICLE = "<p>" + "Words that are there for each reader alike, and no more than that. " * 30 + "</p>"
_LINKS = "".join(f"<li><a href='/{n}'>{n}</a></li>" for n in range(30))

ORDINARY: dict[str, SiteResponse] = {
    "shop": _answer(200, _page("Shop", f"<ul>{_LINKS}</ul>{_ARTICLE}")),
    "sensor_of_cloudflare": _answer(
        200,
        _page("Shop", "<p>Hello</p>", script=b"a.src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'"),
        ("server", "cloudflare"),
    ),
    "sensor_of_human": _answer(
        200, _page("Shop", "<p>Hello</p>", script=b"window._pxAppId='PX1';a.src='/px/init.js'")
    ),
    "sensor_of_imperva": _answer(
        200,
        _page("Shop", "<p>Hello</p><script src='/_Incapsula_Resource?SWJIYLWA=719d'></script>"),
        ("x-iinfo", "1-2-3"),
    ),
    "sensor_of_datadome": _answer(
        200,
        _page("Shop", "<p>Hello</p><script src='https://js.datadome.co/tags.js'></script>"),
        ("x-datadome", "protected"),
    ),
    "sensor_of_kasada": _answer(
        200, _page("Shop", "<p>Hello</p><script>KPSDK.configure([])</script>"), ("x-kpsdk-ct", "1")
    ),
    "form_with_captcha": _answer(
        200,
        _page(
            "Contact us",
            "<form><input name='mail'><div class='g-recaptcha'></div>"
            "<script src='https://www.google.com/recaptcha/api.js'></script></form>",
        ),
    ),
    "log_in_with_turnstile": _answer(
        200,
        _page(
            "Log in",
            "<form><div class='cf-turnstile'></div></form><script src='/turnstile/v0/api.js'></script>",
        ),
    ),
    "article_about_blocks": _answer(
        200, _page("Why access is denied to robots", f"<h1>You have been blocked</h1>{_ARTICLE}")
    ),
    "article_about_captchas": _answer(
        200, _page("What a CAPTCHA is", f"<h1>Are you a robot?</h1>{_ARTICLE}", script=b"var captcha=1")
    ),
    "robots_for_sale": _answer(200, _page("Robot vacuum cleaners", f"<ul>{_LINKS}</ul>")),
    "not_found": _answer(404, _page("Not found", "There is no such page.")),
    "not_found_of_datadome": _answer(404, b"", ("x-datadome", "protected")),
    "error": _answer(500, _page("Error", "Something went wrong.")),
    "maintenance": _answer(503, _page("Maintenance", "We are back soon."), ("retry-after", "60")),
    "rate_limit_of_cloudflare": _answer(
        429,
        _page("Error 1015", "<span class='cf-error-code'>1015</span> You are being rate limited"),
        ("retry-after", "30"),
        ("server", "cloudflare"),
    ),
    "rate_limit_without_a_time": _answer(
        429, _page("Error 1015", "<span class='cf-error-code'>1015</span> You are being rate limited")
    ),
    "maintenance_of_akamai": _answer(
        503, _page("Service unavailable", "Reference&#32;&#35;11&#46;2d https://errors.edgesuite.net/11")
    ),
    "not_found_with_sensor": _answer(
        404,
        _page("Not found", "<script src='/_Incapsula_Resource?SWJIYLWA=719d'></script>"),
        ("x-iinfo", "1-2-3"),
    ),
    "rate_limit": _answer(429, b"slow down", ("retry-after", "5"), kind="text/plain"),
    "password": _answer(401, b"", ("www-authenticate", "Basic")),
    "json": _answer(200, b'{"captcha": "none", "challenge": false}', kind=_JSON),
    "empty": _answer(200, b""),
    "no_content": _answer(204, b""),
}
"""Pages by name that refuse no visitor."""


def refusal(name: str) -> SiteResponse:
    """Return a site's block page by its name in :data:`REFUSALS`."""
    return REFUSALS[name].answer
