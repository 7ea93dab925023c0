"""Which browser is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.config.settings import Settings
from gossamer.core.errors import Fault, MissingServiceError
from gossamer.fetch.browser.driver import find_executable
from gossamer.fetch.browser.faults import error_code, translate_code
from gossamer.wiring.browser import browser_options_of


def test_firefox_is_found_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    with pytest.raises(MissingServiceError, match=r"needs Firefox, .* apt install firefox-esr"):
        find_executable(kind="firefox")
    with pytest.raises(MissingServiceError, match=r"needs Chromium, .* apt install chromium"):
        find_executable()
    program = tmp_path / "firefox"
    program.touch(mode=0o755)
    assert find_executable(kind="firefox") == str(program)


def test_the_settings_name_the_browser() -> None:
    assert browser_options_of(Settings()).kind == "chromium"
    assert browser_options_of(Settings(browser={"kind": "firefox"})).kind == "firefox"  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="stealth drives Chromium alone"):
        Settings(browser={"kind": "firefox", "stealth": True})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("net::ERR_NAME_NOT_RESOLVED at http://a/", Fault.DNS),
        ("Message: Error: NS_ERROR_NET_PARTIAL_TRANSFER at http://a/", Fault.INCOMPLETE),
        ("Message: Error: SEC_ERROR_UNKNOWN_ISSUER at https://a/", Fault.TLS),
        (
            "NS_ERROR_GENERATE_FAILURE(NS_ERROR_MODULE_SECURITY, SEC_ERROR_UNKNOWN_ISSUER) at https://a/",
            Fault.TLS,
        ),
        ("Message: Error: MOZILLA_PKIX_ERROR_SELF_SIGNED_CERT at https://a/", Fault.TLS),
        ("Message: Error: deniedPortAccess at http://a:9/", Fault.GUARD),
        ("Message: Error: NS_ERROR_NEVER_HEARD_OF at http://a/", Fault.PROTOCOL),
    ],
)
def test_what_browsers_say_is_a_fault(said: str, fault: Fault) -> None:
    assert translate_code(error_code(said), "a").fault is fault
