// One host, in a sheet: why it is asked as often as it is, and what can be done about that.
import { h } from "../dom.js";
import { count, ms, share } from "../format.js";
import { sheet } from "../sheet.js";
import { facts, foreign, hostName, section, skeleton, sub } from "../ui.js";
import { waysOut } from "./host_actions.js";
import { when } from "./shared.js";

export function hostSheet(ctx, neighbours, name) {
  const data = ctx.data("host"),
    listed = ctx.memory["rows-hosts"]?.last.get(name);
  return sheet(
    ctx,
    { title: hostName(name, 120), param: "host", neighbours, id: name, what: "host" },
    ctx.show("host", () => body(ctx, data), { waiting: skeleton("lines", 10), what: "This host" }),
  );
}

function body(ctx, one) {
  const [first, second] = one.say ?? ["", ""];
  return [
    h("p", { class: "say" }, h("b", {}, foreign(first, { max: 400 })), " ", foreign(second, { max: 400 })),
    h("div", { class: "does" }, waysOut(ctx, one)),
    section("What is known", { level: 3, id: "host-known" }, known(ctx, one)),
  ];
}

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
    ],
  ]);
