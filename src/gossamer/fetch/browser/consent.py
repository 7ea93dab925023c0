"""Dismiss consent banners: known products by their selectors, others by the words on their buttons.

The table has, for each product, a selector of the banner, its button that refuses and its button that
agrees.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, NamedTuple

from gossamer.fetch.browser.hand import Hand
from gossamer.fetch.browser.steps import is_page_gone

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, Frame, Page

ConsentAnswer = Literal["reject", "accept"]
CONSENT_LEFT = "consent_left"
"""The flag of a page with a banner that has no such button, or that stayed."""

_APPEAR_MS = 800  # until a banner that a script adds is there
_GO_S = 1.0
_CLICK_MS = 2000.0
_MAX_FRAMES = 12


class ConsentType(NamedTuple):
    """A banner that many sites have, by selectors; an empty one: it has no such button at once."""

    name: str
    shown: str
    reject: str
    accept: str


BANNERS = (
    ConsentType(
        "OneTrust",
        "#onetrust-banner-sdk",
        "#onetrust-reject-all-handler, .ot-pc-refuse-all-handler, .onetrust-close-btn-handler",
        "#onetrust-accept-btn-handler",
    ),
    ConsentType(
        "Cookiebot",
        "#CybotCookiebotDialog",
        "#CybotCookiebotDialogBodyButtonDecline, #CybotCookiebotDialogBodyLevelButtonLevelOptinDeclineAll",
        "#CybotCookiebotDialogBodyLevelButtonLevelOptinAllowAll, #CybotCookiebotDialogBodyButtonAccept",
    ),
    ConsentType(
        "Usercentrics",
        "#usercentrics-root, #usercentrics-cmp-ui",
        "[data-testid=uc-deny-all-button], #deny, .deny.uc-deny-button",
        "[data-testid=uc-accept-all-button], #accept, .accept.uc-accept-button",
    ),
    ConsentType(
        "Didomi",
        "#didomi-notice, #didomi-popup",
        "#didomi-notice-disagree-button, .didomi-continue-without-agreeing",
        "#didomi-notice-agree-button",
    ),
    ConsentType(
        "Quantcast Choice",
        ".qc-cmp2-container, .qc-cmp-ui",
        ".qc-cmp2-summary-buttons button[mode=secondary] + button[mode=secondary]",
        ".qc-cmp2-summary-buttons button[mode=primary], .qc-cmp-button",
    ),
    ConsentType(
        "TrustArc",
        "#truste-consent-track, .truste_box_overlay, #truste-consent-content",
        "#truste-consent-required, .required, .rejectAll",
        "#truste-consent-button, .acceptAllButtonLower, .call",
    ),
    ConsentType(
        "Sourcepoint",
        ".message-component.message-row, .message.type-modal",
        "button.sp_choice_type_13, button.sp_choice_type_REJECT_ALL",
        "button.sp_choice_type_11, button.sp_choice_type_ACCEPT_ALL",
    ),
    ConsentType(
        "Google Funding Choices",
        ".fc-consent-root",
        ".fc-cta-do-not-consent",
        ".fc-cta-consent",
    ),
    ConsentType(
        "consentmanager",
        "#cmpbox",
        "#cmpbntnotxt, #cmpwelcomebtnno a, .cmpboxbtnno",
        "#cmpbntyestxt, #cmpwelcomebtnyes a, .cmpboxbtnyes",
    ),
    ConsentType(
        "CookieYes",
        ".cky-consent-container",
        ".cky-btn-reject",
        ".cky-btn-accept",
    ),
    ConsentType(
        "Complianz",
        ".cmplz-cookiebanner",
        ".cmplz-btn.cmplz-deny",
        ".cmplz-btn.cmplz-accept",
    ),
    ConsentType(
        "Borlabs Cookie",
        "#BorlabsCookieBox, #BorlabsCookieEntranceA11yDialog",
        ".brlbs-btn-accept-only-essential, ._brlbs-refuse-btn a, [data-cookie-refuse]",
        ".brlbs-btn-accept-all, ._brlbs-btn-accept-all, [data-cookie-accept-all]",
    ),
    ConsentType(
        "Real Cookie Banner",
        "[id^=rcb-], .rcb-banner",
        "[data-order='1'] .rcb-btn-essentials, .rcb-btn-essentials",
        ".rcb-btn-accept-all",
    ),
    ConsentType(
        "iubenda",
        "#iubenda-cs-banner",
        ".iubenda-cs-reject-btn, .iubenda-cs-close-btn",
        ".iubenda-cs-accept-btn",
    ),
    ConsentType(
        "Klaro",
        ".klaro .cookie-notice, .klaro .cookie-modal",
        ".cn-decline",
        ".cm-btn-success, .cn-ok",
    ),
    ConsentType(
        "Osano",
        ".osano-cm-window",
        ".osano-cm-denyAll, .osano-cm-deny",
        ".osano-cm-accept-all, .osano-cm-accept",
    ),
    ConsentType(
        "Termly",
        "[class*=termly-styles-]",
        "[data-tid=banner-decline]",
        "[data-tid=banner-accept]",
    ),
    ConsentType(
        "Axeptio",
        "#axeptio_overlay",
        "#axeptio_btn_dismiss",
        "#axeptio_btn_acceptAll",
    ),
    ConsentType(
        "tarteaucitron",
        "#tarteaucitronRoot",
        "#tarteaucitronAllDenied2",
        "#tarteaucitronPersonalize2",
    ),
    ConsentType(
        "Civic Cookie Control",
        "#ccc, #ccc-notify",
        "#ccc-reject-settings, .ccc-reject-button",
        "#ccc-recommended-settings, .ccc-accept-button",
    ),
    ConsentType(
        "HubSpot",
        "#hs-eu-cookie-confirmation",
        "#hs-eu-decline-button",
        "#hs-eu-confirmation-button",
    ),
    ConsentType(
        "CookieFirst",
        ".cookiefirst-root",
        "[data-cookiefirst-action=reject]",
        "[data-cookiefirst-action=accept]",
    ),
    ConsentType(
        "Cookie Script",
        "#cookiescript_injected",
        "#cookiescript_reject",
        "#cookiescript_accept",
    ),
    ConsentType(
        "CookieHub",
        ".ch2-container",
        ".ch2-deny-all-btn",
        ".ch2-allow-all-btn",
    ),
    ConsentType(
        "Moove GDPR",
        "#moove_gdpr_cookie_info_bar",
        ".moove-gdpr-infobar-reject-btn",
        ".moove-gdpr-infobar-allow-all",
    ),
    ConsentType(
        "Cookie Notice",
        "#cookie-notice",
        "#cn-refuse-cookie",
        "#cn-accept-cookie",
    ),
    ConsentType(
        "CookieConsent",
        "#cc-main .cm",
        "#cc-main .cm__btn[data-role=necessary]",
        "#cc-main .cm__btn[data-role=all]",
    ),
    ConsentType(
        "Cookie Consent of Osano",
        ".cc-window",
        ".cc-deny",
        ".cc-allow, .cc-dismiss",
    ),
    ConsentType(
        "GDPR Cookie Consent",
        "#cookie-law-info-bar",
        "#cookie_action_close_header_reject",
        "#cookie_action_close_header",
    ),
    ConsentType(
        "Shopify",
        "#shopify-pc__banner",
        "#shopify-pc__banner__btn-decline",
        "#shopify-pc__banner__btn-accept",
    ),
    ConsentType(
        "Ketch",
        "#lanyard_root",
        "#lanyard_root [aria-label*=eject]",
        "#lanyard_root [aria-label*=ccept]",
    ),
    ConsentType(
        "Transcend",
        "#transcend-consent-manager",
        "[data-testid=reject-all]",
        "[data-testid=accept-all]",
    ),
    ConsentType(
        "Evidon",
        "#_evidon_banner",
        "#_evidon-decline-button",
        "#_evidon-accept-button",
    ),
    ConsentType(
        "Crownpeak",
        ".evidon-banner",
        ".evidon-banner-declinebutton",
        ".evidon-banner-acceptbutton",
    ),
)
"""By how often they are met, about."""

WORDS = {
    "reject": (
        "reject|reject all|decline|decline all|deny|deny all|refuse|refuse all|disagree|"
        "only necessary|necessary only|necessary cookies only|only essential|essential only|"
        "essential cookies only|use necessary cookies only|continue without accepting|"
        "no thanks|ablehnen|alle ablehnen|nur notwendige|nur notwendige cookies|"
        "nur essenzielle|tout refuser|refuser|continuer sans accepter|rifiuta|rifiuta tutto|"
        "rifiuta tutti|rechazar|rechazar todo|rechazar todas|recusar|rejeitar|rejeitar tudo|"
        "weigeren|alles weigeren|alleen noodzakelijke|odrzuć|odrzuć wszystkie|odmítnout|"
        "odmítnout vše|avvisa|avvisa alla|afvis|afvis alle|avslå|avslå alle|hylkää|"
        "hylkää kaikki|отклонить|отклонить все|відхилити|elutasítás|refuză|απόρριψη|reddet|"
        "拒否|拒绝|거부"
    ),
    "accept": (
        "accept|accept all|accept cookies|accept all cookies|i accept|agree|i agree|"
        "agree to all|allow|allow all|allow all cookies|allow cookies|got it|ok|okay|"
        "understood|i understand|akzeptieren|alle akzeptieren|zustimmen|allen zustimmen|"
        "einverstanden|verstanden|accepter|tout accepter|j'accepte|accetta|accetta tutto|"
        "accetta tutti|aceptar|aceptar todo|aceptar todas|aceitar|aceitar tudo|accepteren|"
        "alles accepteren|akkoord|akceptuję|zaakceptuj wszystkie|zgadzam się|přijmout|"
        "přijmout vše|souhlasím|acceptera|godkänn alla|accepter alle|tillad alle|godta|"
        "godta alle|hyväksy|hyväksy kaikki|принять|принять все|прийняти|elfogadom|"
        "accept toate|αποδοχή|kabul et|同意する|接受|동의"
    ),
}
"""Words on the buttons of home-made banners, in lower case, separated by ``|``."""

_FIND = """async ([banners, answer, words, wait]) => {
    const all = (scope, selector, found = []) => {  // also in open shadow roots
        found.push(...scope.querySelectorAll(selector));
        for (const node of scope.querySelectorAll("*"))
            if (node.shadowRoot) all(node.shadowRoot, selector, found);
        return found;
    };
    const isSeen = node => {
        const box = node.getBoundingClientRect();
        return box.width > 0 && box.height > 0 && node.checkVisibility({visibilityProperty: true});
    };
    const textOf = node => (node.innerText || node.value || node.getAttribute("aria-label") || "")
        .replace(/\\s+/g, " ").trim().toLowerCase().replace(/[^\\p{L}\\p{N}]+$/u, "").trim();
    const listed = () => {
        for (const banner of banners) {
            const shown = all(document, banner.shown);
            if (!shown.some(node => node.shadowRoot || isSeen(node))) continue;
            const button = banner[answer] && all(document, banner[answer]).find(isSeen);
            if (button) return button;
        }
    };
    const isAsking = node => {
        const kind = getComputedStyle(node).position;
        const name = `${node.id} ${node.className} ${node.getAttribute("aria-label") || ""}`;
        const isApart = ["fixed", "sticky"].includes(kind)
            || node.matches("dialog, [role=dialog], [aria-modal]");
        return (isApart || /cookie|consent|gdpr|privacy|cmp\\b/i.test(name))
            && /cookie|consent|datenschutz|privac|rgpd|gdpr|クッキー|쿠키/i.test(node.innerText || "");
    };
    const worded = () => {
        const kinds = "button, [role=button], a, input[type=button], input[type=submit]";
        for (const button of all(document, kinds)) {
            if (!words.includes(textOf(button)) || !isSeen(button)) continue;
            for (let node = button.parentNode; node; node = node.parentNode || node.host)
                if (node instanceof Element && node !== document.body && isAsking(node)) return button;
        }
    };
    const end = performance.now() + wait;
    for (;;) {
        const button = listed() || worded();
        if (button || performance.now() >= end) return button || null;
        await new Promise(done => setTimeout(done, 50));
    }
}"""


async def answer_consent(page: Page, answer: ConsentAnswer, hand: Hand, *, human: bool) -> bool:
    """Click a banner away, wherever on the page it is; ``False``: there was one, and it stayed."""
    button = await _find_button(page, answer, _APPEAR_MS)
    if button is None:
        other: ConsentAnswer = "accept" if answer == "reject" else "reject"
        return await _find_button(page, other, 0) is None
    try:
        await hand.click_on(button, human=human, timeout=_CLICK_MS)
    except Exception as error:
        if is_page_gone(page, error):
            raise
    return await _has_gone(button)


async def _find_button(page: Page, answer: ConsentAnswer, wait_ms: int) -> ElementHandle | None:
    rows = [banner._asdict() for banner in BANNERS]
    order: list[object] = [rows, answer, WORDS[answer].split("|"), wait_ms]
    for frame in page.frames[:_MAX_FRAMES]:
        if (button := await _find_in_frame(frame, order)) is not None:
            return button
        order[-1] = 0  # it was waited for already
    return None


async def _find_in_frame(frame: Frame, order: list[object]) -> ElementHandle | None:
    with suppress(Exception):  # it went elsewhere meanwhile
        return (await frame.evaluate_handle(_FIND, order)).as_element()
    return None


async def _has_gone(button: ElementHandle) -> bool:
    """Return whether the banner soon disappeared: from the page, with its frame, or hidden."""
    end = asyncio.get_running_loop().time() + _GO_S
    while asyncio.get_running_loop().time() < end:
        try:
            if not await button.is_visible():
                return True
        except Exception:  # noqa: BLE001 - its page or frame has gone
            return True
        await asyncio.sleep(0.05)
    return False
