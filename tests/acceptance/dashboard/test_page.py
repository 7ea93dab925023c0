"""The page of the dashboard in a real browser, over canned answers: its views, states and keys."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from kit.dashboard.canned_answers import ME, VIEWS
from kit.dashboard.canned_server import CannedServer
from kit.dashboard.visitor import Visitor


@pytest.mark.thorough
def test_every_view_is_there_on_a_wide_screen_and_on_a_phone(chromium: Browser, canned: CannedServer) -> None:
    for width, scheme in ((1440, "light"), (390, "dark")):
        with Visitor(chromium, canned.url, width=width, scheme=scheme) as someone:
            someone.go("/")
            for path in VIEWS:
                page = someone.walk(path)
                assert page.locator("main h1").count() == 1, path
                assert not page.locator(".fault").count(), path
                assert someone.spilled() == [], (path, width)


@pytest.mark.long
def test_what_strangers_wrote_is_text(visitor: Visitor) -> None:
    for path in ("/", "/jobs/shops-7/items?id=640632", "/jobs/shops-7/errors", "/jobs/shops-7/dead?id=1314"):
        page = visitor.go(path)
        assert page.locator("main img, main script, main iframe, main object").count() == 0
        assert "broken" not in page.title()
        assert page.locator("main a[href^='javascript:' i]").count() == 0
    page = visitor.go("/jobs/shops-7/items")
    expect(page.locator("main")).to_contain_text("<script>document.title='broken'</script>")
    expect(page.locator(".odd").first).to_have_text("U+202E")
    visitor.go("/jobs/%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E")
    expect(page.locator("h1")).to_have_text("There is no job <img src=x onerror=alert(1)>.")


def test_the_quality_of_items_leads_to_the_page_where_it_became_worse(visitor: Visitor) -> None:
    page = visitor.go("/jobs/shops-7/items")
    expect(page.locator("h1")).to_contain_text("have no Product.price")
    row = page.locator(".grid-quality tbody tr", has_text="price")
    expect(row.get_by_role("img").nth(1)).to_have_attribute("aria-label", "42%, usually 99.6%")
    expect(row).to_contain_text("12 wrong, 1,204 dropped")
    expect(row.get_by_role("link")).to_have_attribute(
        "href", "/jobs/shops-7/items?type=Product&missing=price"
    )
    expect(page.locator(".grid-quality tbody tr")).to_have_count(12)
    page.get_by_role("button", name="Show 4 more fields").click()
    expect(page.locator(".grid-quality tbody tr")).to_have_count(16)
    expect(page.locator(".grid-drops tbody tr")).to_have_count(2)
    page.get_by_role("link", name="See its first page").click()
    page.wait_for_url("**/page?job=shops-7&url=*")
    expect(page.locator("main")).to_contain_text("Items of it that were dropped")


@pytest.mark.long
def test_keys_lead_everywhere(visitor: Visitor) -> None:
    page = visitor.go("/jobs/shops-7")
    for keys, address in (
        ("gh", "/jobs/shops-7/hosts"),
        ("ge", "/jobs/shops-7/errors"),
        ("go", "/"),
        ("gw", "/workers"),
        ("gl", "/alerts"),
        ("n", "/new"),
    ):
        page.keyboard.type(keys)
        page.wait_for_url(f"{visitor.url}{address}")
        page.locator("h1").first.click()  # the form has the focus in none of its fields
    page.keyboard.press("?")
    expect(page.locator("dialog h2")).to_have_text("Keys")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("docs")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{visitor.url}/jobs/docs-31")


@pytest.mark.thorough
def test_what_is_found_by_its_name_stands_there_once(visitor: Visitor) -> None:
    page = visitor.go("/jobs/shops-7")
    page.keyboard.press("/")
    page.keyboard.type("shop")
    found = page.locator("#found").get_by_role("option")
    expect(page.get_by_role("option", name="api.shop.example")).to_be_visible()
    expect(found.first).to_have_text("jobshops-7 running")
    assert len({*found.all_inner_texts()}) == found.count()


@pytest.mark.thorough
@pytest.mark.parametrize("width", [390, 768])
def test_the_five_figures_of_a_place_without_a_fleet_fit(
    chromium: Browser, canned: CannedServer, width: int
) -> None:
    """The canned fleet has six: without the workers, as a crawl of one machine shows them, there are five."""
    with Visitor(chromium, canned.url, width=width) as someone:
        page = someone.go("/")
        page.keyboard.press(".")  # it stays as it is
        page.evaluate(
            "[...document.querySelectorAll('.vital')].find(one => /Workers/.test(one.innerText)).remove()"
        )
        assert page.locator(".vital").count() == 5
        assert someone.spilled() == []
        boxes = [box.bounding_box() or {} for box in page.locator(".vital .v").all()]
        in_a_row = len({round(box["x"]) for box in boxes})
        assert in_a_row == (2 if width == 390 else 3)


@pytest.mark.thorough
def test_the_menu_of_a_phone_opens_and_closes(chromium: Browser, canned: CannedServer) -> None:
    with Visitor(chromium, canned.url, width=390) as someone:
        page = someone.go("/")
        menu = page.get_by_role("button", name="Places")
        menu.click()
        expect(page.locator(".rail .place").first).to_be_focused()
        page.keyboard.press("Escape")
        expect(menu).to_be_focused()
        expect(menu).to_have_attribute("aria-expanded", "false")
        page.keyboard.press("?")
        expect(page.locator("dialog kbd").first).to_be_visible()


@pytest.mark.thorough
def test_rows_are_walked_opened_picked_and_closed_by_keys(visitor: Visitor) -> None:
    page = visitor.go("/jobs/shops-7/dead")
    page.keyboard.type("jjx")
    expect(page.locator(".bulk")).to_contain_text("1 picked")
    page.keyboard.press("Enter")
    expect(page.locator(".side h2")).to_contain_text("Letter 1,315")
    page.keyboard.type("]")
    expect(page.locator(".side h2")).to_contain_text("Letter 1,314")
    page.go_back()
    expect(page.locator(".side h2")).to_contain_text("Letter 1,315")
    page.keyboard.press("Escape")
    expect(page.locator(".side")).to_have_count(0)
    assert page.evaluate("document.activeElement.dataset.id") == "1315"
    page = visitor.go("/jobs/shops-7/dead?id=1312")
    expect(page.locator(".side .say")).to_contain_text("Look at shops.py, line 48, in parse_product.")


@pytest.mark.thorough
def test_nothing_moves_under_the_pointer(visitor: Visitor, canned: CannedServer) -> None:
    page = visitor.go("/jobs/shops-7/hosts")
    third = page.locator("tbody tr").nth(2)
    third.hover()
    before, place = third.get_attribute("data-id"), third.bounding_box()
    given = canned.answers

    def turned(path: str, query: dict[str, str]) -> object:
        found = given(path, query)
        if path.endswith("/hosts"):
            new = [found["hosts"][0] | {"host": f"new-{n}.example", "pending": 7} for n in range(5)]
            found["hosts"] = [*new, *({**one, "pending": 12_345} for one in reversed(found["hosts"]))]
        return found

    canned.answers = turned
    page.keyboard.type("..")  # held, and not held any more: asked anew
    expect(third.locator("td").first).to_have_text("12,345")
    assert (third.get_attribute("data-id"), third.bounding_box()) == (before, place)
    expect(page.locator(".table-foot")).to_contain_text("5 newer")
    page.keyboard.press("s")
    expect(page.locator("tbody tr").first).to_have_attribute("data-id", "new-0.example")


def test_what_the_site_announces_stands_beside_what_is_there(visitor: Visitor) -> None:
    listed = visitor.go("/jobs/shops-7").locator("section[aria-labelledby=h-listed] li")
    expect(listed).to_contain_text("products")
    expect(listed).to_contain_text("640,632 of 912,400")
    expect(visitor.go("/jobs/docs-31").locator("#h-listed")).to_have_count(0)


def test_what_the_spider_counts_itself_is_shown(visitor: Visitor) -> None:
    rows = visitor.go("/jobs/shops-7").locator("section[aria-labelledby=h-counted] li")
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_have_text(re.compile("sold out *18,204"))
    expect(rows.nth(1)).to_have_text(re.compile("dearest *4,999.5"))
    expect(rows.nth(2)).to_contain_text("<b>of a stranger</b>")
    assert visitor.spilled() == []
    expect(visitor.go("/jobs/docs-31").locator("#h-counted")).to_have_count(0)


def test_what_the_stream_tells_is_shown_and_can_be_held(visitor: Visitor, canned: CannedServer) -> None:
    page = visitor.go("/jobs/docs-31")
    pending, topic = page.locator(".states .n").first, "job:docs-31"
    canned.tell(
        "snapshot", {"topic": topic, "at": 1.0, "data": canned.answers("/jobs/docs-31", {}) | {"pending": 41}}
    )
    expect(pending).to_have_text("41")
    canned.tell(
        "delta",
        {"topic": topic, "at": 2.0, "set": [[["pending"], 42], [["due", 0, 1], 7]], "drop": [["budgets"]]},
    )
    expect(pending).to_have_text("42")
    expect(page.locator("#h-due + ul, section[aria-labelledby=h-due] li b").first).to_have_text("7")
    expect(page.locator("#h-budgets")).to_have_count(0)
    page.keyboard.press(".")
    expect(page.locator(".alive")).to_contain_text("Held at")
    canned.tell("delta", {"topic": topic, "at": 3.0, "set": [[["pending"], 43]], "drop": []})
    canned.tell("delta", {"topic": "overview", "at": 3.0, "set": [], "drop": []})
    expect(pending).to_have_text("42")


@pytest.mark.thorough
def test_a_list_goes_on_and_back(visitor: Visitor) -> None:
    page = visitor.go("/jobs/shops-7/dead")
    expect(page.locator(".pager")).to_contain_text("50 of 1,312 dead letters")
    page.get_by_role("button", name="Next").click()
    expect(page.locator(".pager")).to_contain_text("100 of 1,312")
    page.go_back()
    expect(page.locator(".pager")).to_contain_text("50 of 1,312")
    page.go_forward()
    page.get_by_role("button", name="Previous").click()
    expect(page.locator(".pager")).to_contain_text("50 of 1,312")


def test_a_list_shows_what_is_searched_for(visitor: Visitor) -> None:
    """A bug it would catch: the rows of the former question are taken for the answer to the new one."""
    page = visitor.go("/jobs/shops-7/hosts")
    rows = page.locator("main tbody tr[data-id]")
    expect(rows).not_to_have_count(1)
    search = page.get_by_placeholder("Part of a host")
    search.fill("lamps.")
    search.press("Enter")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("lamps.example")
    search.fill("")
    search.press("Enter")
    expect(rows).not_to_have_count(1)


@pytest.mark.thorough
def test_a_part_fails_alone_and_keeps_what_it_had(visitor: Visitor, canned: CannedServer) -> None:
    canned.status["/jobs/shops-7/series"] = 503
    page = visitor.go("/jobs/shops-7")
    expect(page.locator(".fault")).to_contain_text("The rates could not be read.")
    expect(page.locator(".fault")).to_contain_text("The crawls do not depend on this page.")
    expect(page.locator("h1")).to_contain_text("goes as fast as its hosts allow")
    canned.status.clear()
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".bands")).to_be_visible()
    canned.status["/jobs/shops-7"] = 503
    page.keyboard.type("..")
    expect(page.locator("h1:visible")).to_have_text("Redis cannot be read.")
    expect(page.locator(".fault").first).to_contain_text("the fleet waits, and loses nothing")
    expect(page.locator(".stale").first).to_be_visible()


@pytest.mark.thorough
def test_without_the_right_to_act_buttons_say_why(visitor: Visitor, canned: CannedServer) -> None:
    given = canned.answers
    canned.answers = lambda path, query: ME | {"role": "read"} if path == "/me" else given(path, query)
    page = visitor.go("/jobs/shops-7")
    expect(page.get_by_role("button", name="Pause")).to_be_disabled()
    assert (
        page.get_by_role("button", name="Pause").get_attribute("title")
        == "Your token may look, not change (role read)."
    )


def test_an_action_says_what_was_seen_and_can_be_undone(visitor: Visitor, canned: CannedServer) -> None:
    page = visitor.go("/jobs/shops-7")
    page.keyboard.press("p")
    expect(page.locator(".toast")).to_contain_text("shops-7 is paused.")
    page.keyboard.press("u")
    expect(page.locator(".toast").last).to_contain_text("goes on")
    (method, path, order), (undo, undone, _) = canned.told
    assert (method, path, order["do"], order["expect"]) == (
        "POST",
        "/jobs/shops-7/actions",
        "pause",
        {"state": "running"},
    )
    assert order["key"]
    assert (undo, undone) == ("DELETE", "/actions/1")


@pytest.mark.thorough
def test_what_is_done_in_slices_says_how_far_it_has_got(visitor: Visitor, canned: CannedServer) -> None:
    given, done = canned.answers, {"done": 500}
    canned.after = {"done": 500}
    canned.answers = lambda path, query: (
        {"id": 1, "undone_at": None, "after": done} if path == "/actions/1" else given(path, query)
    )
    page = visitor.go("/jobs/shops-7/dead")
    page.get_by_role("button", name="Pick all 1,312 that match").click()
    expect(page.get_by_role("button", name="Retry 1,312")).to_be_enabled()
    page.keyboard.press("r")
    page.get_by_role("dialog").get_by_role("button", name="Retry 1,312 now").click()
    expect(page.locator(".toast")).to_contain_text("500 of 1,312 so far")
    done["done"] = 1000
    expect(page.locator(".toast")).to_contain_text("1,000 of 1,312 so far")
    done["done"] = 1312
    expect(page.locator(".toast .far")).to_have_count(0)
    expect(page.locator(".toast")).to_contain_text("1,312 requests wait again.")


@pytest.mark.thorough
def test_two_urls_of_one_site_can_be_told_apart(visitor: Visitor) -> None:
    page = visitor.go("/jobs/shops-7/dead?id=1312")
    cell = page.locator("tr[data-id='1316'] .url")  # with a query of thousands of characters
    end = cell.locator(".mid-tail")
    room, seen = cell.bounding_box(), end.bounding_box()
    assert room
    assert seen
    assert seen["x"] + seen["width"] <= room["x"] + room["width"] + 1
    assert (cell.get_attribute("title") or "").endswith(end.inner_text())


@pytest.mark.thorough
def test_the_rail_names_no_job_that_is_gone(visitor: Visitor) -> None:
    visitor.page.add_init_script("localStorage.setItem('gossamer.job', 'gone-1')")
    page = visitor.go("/")
    expect(page.locator(".rail .which")).to_contain_text("news-12")
    assert page.evaluate("localStorage.getItem('gossamer.job')") is None


@pytest.mark.thorough
def test_signing_in_leads_back_to_where_one_was(visitor: Visitor, canned: CannedServer) -> None:
    canned.status[""] = 401
    page = visitor.page
    page.goto(visitor.url + "/jobs/shops-7/dead")
    expect(page.locator("h1")).to_have_text("Sign in with a token")
    canned.status.clear()
    page.get_by_label("Token").fill("gsm_read_x")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("1,312 requests were given up")
    assert canned.told == [("POST", "/session", {"token": "gsm_read_x"})]


@pytest.mark.thorough
def test_without_a_connection_the_page_says_so_and_comes_back(visitor: Visitor, canned: CannedServer) -> None:
    page = visitor.page
    page.clock.install()
    visitor.go("/jobs/shops-7")
    canned.is_away = True
    expect(page.locator(".banner")).to_have_count(0)
    page.clock.run_for(12_000)
    expect(page.locator(".banner")).to_contain_text("No connection to the dashboard")
    expect(page.get_by_role("button", name="Pause")).to_be_disabled()
    canned.is_away = False
    page.get_by_role("button", name="Try now").click()
    expect(page.locator(".banner")).to_have_count(0)


@pytest.mark.thorough
def test_what_takes_long_shows_its_frame_first(visitor: Visitor, canned: CannedServer) -> None:
    canned.slow["/jobs/shops-7/dead"] = 1.0
    page = visitor.page
    page.goto(visitor.url + "/jobs/shops-7/dead")
    expect(page.locator("main .skeleton")).to_be_visible()
    expect(page.locator("main h1")).to_have_text("Dead letters")
    expect(page.locator("main h1")).to_contain_text("were given up")


@pytest.mark.thorough
@pytest.mark.parametrize("path", ["/nowhere", "/jobs/shops-7/nowhere"])
def test_an_address_that_leads_nowhere(visitor: Visitor, path: str) -> None:
    page = visitor.go(path)
    expect(page.locator("h1")).to_have_text("There is no such page.")
    page.get_by_role("link", name="Overview").last.click()
    page.wait_for_url(visitor.url + "/")


def test_the_first_sentence_has_room_beside_the_buttons(visitor: Visitor, canned: CannedServer) -> None:
    said = "shops-7 needs you: lamps-and-fabrics.example answers nothing well, and one more alert is on."
    given = canned.answers

    def answer(path: str, query: dict[str, str]) -> Any:
        return given(path, query) | ({"say": [said, said]} if path == "/jobs/shops-7" else {})

    canned.answers = answer
    page = visitor.go("/jobs/shops-7")
    for width in (390, 768, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        expect(page.locator("h1")).to_have_text(said)
        box = page.locator("h1").bounding_box()
        assert box is not None
        assert box["height"] < 150, f"{width} px"
