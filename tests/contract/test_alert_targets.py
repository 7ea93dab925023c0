"""Every target of alerts keeps every promise of the contract, against services of our own on loopback."""

import ssl
from contextlib import asynccontextmanager

import pytest
import trustme

from gossamer.core.errors import MissingServiceError, SettingError
from gossamer.policy.credentials import basic_authorization
from gossamer.testing.contracts.alert_target import (
    ALERT_TARGET_CHECKS,
    AlertTargetSubject,
    check_alert_target,
    make_notice,
)
from gossamer.watch.targets.chat import AppriseTarget
from gossamer.watch.targets.mail import MailTarget
from gossamer.watch.targets.webhook import WebhookTarget
from kit.alert_services import serve_mail, serve_webhook

pytestmark = pytest.mark.slow

SECRET = "s3cr3t-t0ken"
QUICK_S = 0.3


@asynccontextmanager
async def webhook(clock):
    with serve_webhook() as service:
        url = f"http://127.0.0.1:{service.port}/hooks/{SECRET}"
        yield AlertTargetSubject(
            WebhookTarget("ops", url, user_agent="gossamer", timeout_s=QUICK_S),
            lambda: [document["headline"] for document in service.received],
            service.set_state,
            SECRET,
        )


@asynccontextmanager
async def mail(clock):
    with serve_mail() as service:
        url = f"smtp://robot:{SECRET}@127.0.0.1:{service.port}"
        yield AlertTargetSubject(
            MailTarget("ops", url, sender="g@example.org", to=["ops@example.org"], timeout_s=QUICK_S),
            lambda: [message.get_content() for message in service.received],
            service.set_state,
            SECRET,
        )


@asynccontextmanager
async def chat(clock):
    with serve_webhook() as service:
        url = f"json://127.0.0.1:{service.port}/{SECRET}?rto={QUICK_S}&cto={QUICK_S}"
        yield AlertTargetSubject(
            AppriseTarget("ops", url, timeout_s=QUICK_S),
            lambda: [document["message"] for document in service.received],
            service.set_state,
            SECRET,
        )


TARGETS = {"webhook": webhook, "mail": mail, "apprise": chat}


@pytest.mark.parametrize("name", TARGETS)
async def test_alert_target(name):
    await check_alert_target(TARGETS[name])


def test_the_suite_has_checks():
    assert len(ALERT_TARGET_CHECKS) > 3


async def test_a_webhook_is_told_in_fields_and_in_words():
    with serve_webhook() as service:
        url = f"http://robot:{SECRET}@127.0.0.1:{service.port}/x"
        await WebhookTarget("ops", url, user_agent="gossamer").deliver(make_notice())
    (document,) = service.received
    assert service.log_ins == [basic_authorization(f"robot:{SECRET}")]
    assert document == {
        "id": "dead_letters:shops-7",
        "change": "begun",
        "alert": "dead_letters",
        "severity": "needs_you",
        "text": "shops-7 has 40 new dead letters.",
        "headline": "shops-7 has 40 new dead letters.",
        "place": "the fleet default",
        "who": "",
        "job": "shops-7",
        "since": "1970-01-12T13:46:40Z",
        "at": "1970-01-12T13:51:40Z",
        "ways": ["gossamer dead list shops-7"],
        "source": "gossamer",
    }


@pytest.mark.parametrize("is_tls_first", [True, False])
async def test_a_password_goes_to_a_mail_server_over_tls(monkeypatch, tmp_path, is_tls_first):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    with serve_mail(tls, is_tls_first=is_tls_first) as service:
        scheme = "smtps" if is_tls_first else "smtp"
        url = f"{scheme}://robot:{SECRET}@127.0.0.1:{service.port}"
        target = MailTarget("ops", url, sender="g@example.org", to=["a@example.org", "b@example.org"])
        await target.deliver(make_notice("shops-7 fails\r\nBcc: c@example.org"))
    (message,) = service.received
    assert service.is_over_tls == [True]
    assert len(service.log_ins) == 1
    assert message["Subject"] == "[gossamer] shops-7 fails Bcc: c@example.org"
    assert message["To"] == "a@example.org, b@example.org"
    assert message["Bcc"] is None


async def test_a_mail_server_that_is_not_trusted_is_told_nothing():
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(tls)
    with serve_mail(tls) as service:
        url = f"smtp://robot:{SECRET}@127.0.0.1:{service.port}"
        target = MailTarget("ops", url, sender="g@example.org", to=["a@example.org"])
        with pytest.raises(MissingServiceError, match="SSLCertVerificationError"):
            await target.deliver(make_notice())
    assert service.received == service.log_ins == []


def test_a_url_that_apprise_does_not_know_is_not_shown():
    with pytest.raises(SettingError) as refused:
        AppriseTarget("ops", f"nosuch://{SECRET}/")
    assert SECRET not in str(refused.value)
