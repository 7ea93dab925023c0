"""A job's past as the API tells it."""

from gossamer.core.results import Attempt, Verdict
from kit.web import open_web


async def test_rates_and_failures_of_a_job(tmp_path):
    async with open_web(tmp_path) as web:
        job = await web.backends.book.create("shop", "shop.py")
        now = web.backends.clock.now()
        hostile = "<script>alert(1)</script>"
        row = Attempt(
            at=now, url=f"http://a.example/{hostile}", fingerprint=1, verdict=Verdict.DEAD, reason="server",
            status=503, detail=hostile, rung="http",
        )  # fmt: skip
        await web.backends.store.record_attempts(job, [row])
        found = await web.get("/jobs/shop-1/series?range=15m")
        assert found["step_s"] == 20
        assert {len(line) for line in found["series"].values()} == {(found["until"] - found["since"]) // 20}
        errors = await web.get("/jobs/shop-1/errors")
        assert [(group["reason"], group["dead"]) for group in errors["groups"]] == [("server", 1)]
        assert errors["groups"][0]["samples"][0]["detail"] == hostile
        heat = await web.get("/jobs/shop-1/errors/heat?by=host")
        assert [(row["name"], row["cells"][-1]) for row in heat["rows"]] == [("a.example", [1, 1])]
        for wrong in ("series?range=2h", "errors?range=", "errors/heat?by=reason"):
            assert (await web.client.get(f"/api/v1/jobs/shop-1/{wrong}")).status_code == 422, wrong
        for lost in ("series", "errors", "errors/heat"):
            assert (await web.client.get(f"/api/v1/jobs/gone-1/{lost}")).status_code == 404, lost
