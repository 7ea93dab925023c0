// One host, in a sheet: why it is asked as often as it is, and what can be done about that.
import { bars, spark } from "../charts.js";
import { h } from "../dom.js";
import { count, duration, ms, share } from "../format.js";
import { jobHref } from "../places.js";
import { sheet } from "../sheet.js";
import { facts, foreign, hostName, num, section, skeleton, sub } from "../ui.js";
import { waysOut } from "./host_actions.js";
import { STATUS_KINDS, when } from "./shared.js";

export function hostSheet(ctx, neighbours, name) {
  const data = ctx.data("host"),
    listed = ctx.memory["rows-hosts"]?.last.get(name);
  return sheet(
    ctx,
    { title: hostName(name, 120, listed?.shown_host), param: "host", neighbours, id: name, what: "host" },
    ctx.show("host", () => body(ctx, data), { waiting: skeleton("lines", 10), what: "This host" }),
  );
}

function body(ctx, one) {
  const [first, second] = one.say ?? ["", ""],
    ledger = (query) => jobHref(ctx.job, "/attempts", { host: one.host, ...query });
  return [
    h("p", { class: "say" }, h("b", {}, foreign(first, { max: 400 })), " ", foreign(second, { max: 400 })),
    h("div", { class: "does" }, waysOut(ctx, one)),
    one.starts &&
      section(
        "Starts in the last minute",
        { level: 3, id: "host-starts", meta: one.starts.length ? `${count(one.starts.length)}` : "none" },
        starts(ctx, one),
      ),
    one.delays?.length > 1 &&
      section(
        "Delay in force, last hour",
        {
          level: 3,
          id: "host-delays",
          meta: [
            h("b", {}, duration(one.delay_s)),
            ` now, most ${duration(Math.max(...one.delays.filter((x) => x !== null)))}`,
          ],
        },
        spark(one.delays, {
          label: "delay in force in the last hour",
          wide: true,
          kind: one.why === "backoff" ? "held" : "",
        }),
      ),
    one.answers &&
      section(
        "Answers, last hour",
        { level: 3, id: "host-answers", meta: num(ledger({}), "all attempts") },
        answers(one, ledger),
      ),
    section("What is known", { level: 3, id: "host-known" }, known(ctx, one)),
  ];
}

function starts(ctx, one) {
  const now = ctx.now(),
    place = (t) => `${Math.max(0, Math.min(100, (1 - (now - t) / 60) * 97))}%`,
    recent = one.starts.filter((t) => now - t < 60);
  return [
    h(
      "div",
      {
        class: "starts",
        role: "img",
        "aria-label": `${recent.length} requests were started in the last minute`,
      },
      recent.map((t) => h("i", { css: { left: place(t) } })),
      one.next_at &&
        !(one.hold_until > now) &&
        h("i", { key: "next", class: "next", css: { left: "98.5%" } }),
    ),
    h(
      "div",
      { class: "starts-axis" },
      h("span", {}, "1 min ago"),
      h("span", {}, one.hold_until > now ? "no turn before the hold ends" : "next turn"),
    ),
  ];
}

const answers = (one, ledger) =>
  h(
    "ul",
    { class: "rows" },
    Object.entries(STATUS_KINDS).map(([status, kind]) => {
      const values = one.answers[status] ?? [],
        n = values.reduce((sum, value) => sum + (value ?? 0), 0);
      return h(
        "li",
        { key: status },
        h(
          "span",
          { class: "with-spark answers" },
          h("span", {}, num(ledger({ status }), status)),
          bars(values, { label: `${status}: ${count(n)}`, kind }),
        ),
        h("b", {}, count(n)),
      );
    }),
  );

const known = (ctx, one) =>
  facts([
    ["Pages", count(one.pages)],
    ["Pending", count(one.pending)],
    ["In flight", one.per_host ? `${count(one.in_flight)} of ${count(one.per_host)}` : count(one.in_flight)],
    one.success !== null && one.success !== undefined && ["Success", share(one.success)],
    one.p50_s && ["p50, p95", `${ms(one.p50_s)}, ${ms(one.p95_s)}`],
    ["Incidents, silences", `${count(one.incidents)}, ${count(one.silences)}`],
    one.rung && [
      "Rung",
      one.rung,
      one.rung_since && sub(" since ", when(ctx, one.rung_since, false)),
      one.rung_why && sub(": ", foreign(one.rung_why, { max: 160 })),
    ],
    one.robots && [
      "robots.txt",
      one.robots.read_at ? ["read ", when(ctx, one.robots.read_at)] : "not read yet",
      sub(one.robots.crawl_delay_s ? `; Crawl-delay: ${one.robots.crawl_delay_s}` : "; no Crawl-delay"),
      one.robots.disallow?.length > 0 &&
        sub(
          "; disallows ",
          one.robots.disallow.map((path) => [foreign(path, { max: 40 }), " "]),
        ),
    ],
  ]);
