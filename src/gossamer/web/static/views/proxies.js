// Proxies: which do well, and which rest?
import { act, actButton } from "../actions.js";
import { h } from "../dom.js";
import { count, ms, plural, share } from "../format.js";
import { mark, noMark } from "../marks.js";
import { table } from "../table.js";
import { blank, foreign, head, section, skeleton, sub } from "../ui.js";
import { when } from "./shared.js";

const isOut = (one, now) => one.quarantined_until !== null && one.quarantined_until > now;
const successOf = (one) => {
  const all = one.answers + one.blocks + one.failures;
  return all ? one.answers / all : null;
};

function columns(ctx) {
  const now = ctx.now();
  return [
    {
      key: "name",
      label: "Proxy",
      p: 1,
      cell: (one) =>
        h(
          "span",
          { class: "name" },
          isOut(one, now) ? mark("held", "rests") : noMark(),
          h(
            "span",
            { class: "two" },
            h("b", {}, foreign(one.name, { max: 40 })),
            sub([one.provider, one.kind, one.country].filter(Boolean).join(", ")),
          ),
        ),
    },
    {
      key: "success",
      label: "Success",
      right: true,
      p: 2,
      cell: (one) => {
        const part = successOf(one);
        return h(
          "span",
          { class: part !== null && part < 0.5 ? "is-dead" : part !== null && part < 0.9 ? "is-held" : "" },
          share(part),
        );
      },
    },
    {
      key: "p50",
      label: "Time",
      right: true,
      p: 3,
      cell: (one) => (one.latency_s ? ms(one.latency_s) : sub("–")),
    },
    { key: "requests", label: "Answers", right: true, p: 2, cell: (one) => count(one.answers) },
    { key: "gb", label: "Refused", right: true, p: 2, cell: (one) => count(one.blocks) },
    { key: "cost", label: "Failed", right: true, p: 2, cell: (one) => count(one.failures) },
    {
      key: "state",
      label: "State",
      p: 2,
      phone: "wide",
      cell: (one) =>
        isOut(one, now)
          ? h("span", { class: "is-held" }, "rests until ", when(ctx, one.quarantined_until, false))
          : sub("in use"),
    },
    {
      key: "does",
      label: "",
      right: true,
      p: 2,
      cell: (one) => doesCell(ctx, one, now),
    },
  ];
}

function doesCell(ctx, one, now) {
  const path = `/proxies/${encodeURIComponent(one.name)}/actions`;
  return isOut(one, now)
    ? actButton(ctx, "Try it now", () => act(ctx, path, { do: "try" }, `A canary goes out by ${one.name}.`), {
        kind: "quiet",
      })
    : actButton(
        ctx,
        "Rest it",
        () => act(ctx, path, { do: "rest" }, `${one.name} rests.`, { undone: `${one.name} is used again.` }),
        { kind: "quiet" },
      );
}

/** Pairs of a proxy and a host that rest: a block is the pair's fault. */
function pairs(ctx, list) {
  const hosts = [...new Set(list.flatMap((one) => one.blocked_hosts.map((pair) => pair.host)))].slice(0, 12),
    rows = list.filter((one) => one.blocked_hosts.length);
  if (!hosts.length) return null;
  const cellOf = (one, host) => {
    const pair = one.blocked_hosts.find((known) => known.host === host);
    return h(
      "td",
      { class: pair ? "held" : "unused" },
      pair ? ["until ", when(ctx, pair.until, false)] : "–",
    );
  };
  return section(
    "Pairs that rest: each proxy at each host",
    { id: "pairs", meta: "when it may return" },
    h(
      "div",
      {
        class: "table-box scroll",
        tabindex: "0",
        role: "region",
        "aria-label": "Proxies by host, scrolls sideways",
      },
      h(
        "table",
        { class: "matrix", "aria-label": "Proxies by host", css: { "--n": String(hosts.length) } },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, "Proxy"),
            hosts.map((host) => h("th", { scope: "col" }, foreign(host, { max: 30 }))),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map((one) =>
            h(
              "tr",
              { key: one.name },
              h("th", { scope: "row" }, foreign(one.name, { max: 30 })),
              hosts.map((host) => cellOf(one, host)),
            ),
          ),
        ),
      ),
    ),
  );
}

function draw(ctx, data) {
  const list = data.proxies,
    out = list.filter((one) => isOut(one, ctx.now())),
    resting = list.reduce((sum, one) => sum + one.blocked_hosts.length, 0);
  if (!list.length)
    return [
      head({ answer: "Proxies" }),
      blank({
        title: "No proxies, and none are needed.",
        text: "Every host is asked directly. The section proxies of the settings lists those that crawls are to use.",
      }),
    ];
  const [first, second] = [
    out.length
      ? `${count(out.length)} of ${plural(list.length, "proxy", "proxies")} ${out.length === 1 ? "rests" : "rest"}.`
      : list.length === 1
        ? "The one proxy is in use."
        : `All ${plural(list.length, "proxy", "proxies")} are in use.`,
    resting
      ? `${plural(resting, "pair")} of a proxy and a host ${resting === 1 ? "rests" : "rest"} after blocks.`
      : "",
  ];
  return [
    head({ answer: first, say: second }),
    section(
      "Proxies",
      { id: "proxies", meta: "names only; credentials are never shown" },
      table({
        id: "proxies",
        label: "Proxies",
        columns: columns(ctx),
        rows: list,
        idOf: (one) => one.name,
        foot: "A proxy’s death costs no request a retry. Time: until the header of an answer.",
      }),
    ),
    pairs(ctx, list),
  ];
}

export const proxies = {
  title: () => "Proxies",
  crumbs: () => [["/", "Overview"], "Proxies"],
  needs: () => [{ name: "proxies", path: "/proxies", every: 5 }],
  draw: (ctx) => ctx.whole("proxies", "Proxies", skeleton("table", 12), (data) => draw(ctx, data)),
};
