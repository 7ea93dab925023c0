// What several views say in the same way: reasons, verdicts, tries, and where a job's rows are.
import { h } from "../dom.js";
import { clock, count, duration, moment, ms, size } from "../format.js";
import { jobHref } from "../places.js";
import { foreign, sub, tag } from "../ui.js";

/** The crumbs of a job's view. */
export const crumbsOf = (ctx, name) => [["/", "Overview"], [jobHref(ctx.job), ctx.job], name];
export const apiOf = (ctx, end = "") => `/jobs/${encodeURIComponent(ctx.job)}${end}`;

const VERDICT_KINDS = {
  success: "",
  redirect: "",
  skipped: "",
  rerouted: "",
  retry: "held",
  expired: "held",
  dead: "dead",
};
export const VERDICTS = Object.keys(VERDICT_KINDS);
export const verdictTag = (verdict) =>
  VERDICT_KINDS[verdict] ? tag(verdict, VERDICT_KINDS[verdict]) : sub(verdict);
export const statusText = (status) => (status ? String(status) : sub("none"));
export const RUNGS = ["http", "impersonate", "browser", "gateway"];
export const STATUS_KINDS = { "2xx": "calm", "3xx": "calm", "4xx": "held", "5xx": "dead", none: "dead" };

/** Seconds until something, or since it: "in 12 s", "12 s ago". */
export const until = (ctx, t) =>
  t === null || t === undefined ? "–" : t > ctx.now() ? `in ${duration(t - ctx.now())}` : "now";

/** Tries of one request from the first to the last, with the waits between them drawn short. */
export function life(ctx, tries) {
  const steps = [...tries].sort((a, b) => a.at - b.at);
  return h(
    "ol",
    { class: "life" },
    steps.map((one, i) => {
      const before = steps[i - 1],
        wait_s = before ? one.at - before.at - (before.elapsed_ms ?? 0) / 1000 : 0;
      return [
        wait_s >= 1 && h("li", { key: `w-${i}`, class: "wait" }, h("b", {}, duration(wait_s)), " of waiting"),
        tryLine(ctx, one, i),
      ];
    }),
  );
}

function tryLine(ctx, one, i) {
  const lastLine = String(one.detail ?? "")
    .trim()
    .split("\n")
    .at(-1);
  const facts = [
    one.elapsed_ms ? ms(one.elapsed_ms / 1000) : "",
    one.size_bytes ? size(one.size_bytes) : "",
    one.rung,
    one.proxy || (one.rung ? "direct" : ""),
    one.worker,
  ].filter(Boolean);
  const kind =
    one.verdict === "success" ? "success" : VERDICT_KINDS[one.verdict] === "held" ? "retry" : one.verdict;
  return h(
    "li",
    { key: `t-${i}`, class: kind },
    h(
      "div",
      { class: "what" },
      h("b", {}, `${count(one.attempt)}. ${one.status || "no answer"}`),
      lastLine && h("span", {}, foreign(lastLine, { max: 120 })),
      one.reason && tag(one.reason, VERDICT_KINDS[one.verdict] ?? ""),
      h("span", { class: "when" }, when(ctx, one.at, true)),
    ),
    h("span", { class: "sub" }, facts.join(", ")),
  );
}

/** A time with the full one, and its zone, in the title. */
export const when = (ctx, t, seconds = true) =>
  h(
    "time",
    {
      datetime: t ? new Date(t * 1000).toISOString() : null,
      title: t ? new Date(t * 1000).toString() : null,
    },
    moment(t, ctx.now(), seconds),
  );
export const span = (from, to) => (from && to ? `${clock(from)} – ${clock(to)}` : "");

const isOwnFile = (file) => !/(^|\/)(gossamer|site-packages|dist-packages|lib\/python)/.test(file);
/** Where in one's own code it was raised: "shops.py, line 48, in parse_product"; "" where that is not known. */
export function ownPlace(text) {
  const frames = [...String(text).matchAll(/^ {2}File "([^"]*)", line (\d+)(?:, in (.+))?$/gm)],
    own = frames.filter(([, file]) => isOwnFile(file)).at(-1);
  if (!own) return "";
  const [, file, line, name] = own;
  return `${file.split(/[\\/]/).at(-1)}, line ${line}${name ? `, in ${name}` : ""}`;
}

/** A traceback with one's own lines marked: those of no installed package, and not of Gossamer itself. */
export function traceback(text) {
  const lines = String(text).split("\n");
  let isOwn = false;
  return h(
    "pre",
    { class: "code", tabindex: "0" },
    lines.map((line, i) => {
      const file = /^ {2}File "([^"]*)"/.exec(line)?.[1];
      if (file !== undefined) isOwn = isOwnFile(file);
      else if (!line.startsWith("    ")) isOwn = false;
      const isLast =
        i === lines.length - 1 ||
        (!line.startsWith(" ") && /^[\w.]+(Error|Exception|Operation|Warning)\b/.test(line));
      return h(
        "span",
        { class: [isOwn && "own", isLast && !isOwn && "last"] },
        line + (isLast && i === lines.length - 1 ? "" : "\n"),
      );
    }),
  );
}
export const isTraceback = (text) => /^Traceback \(most recent call last\)/m.test(text ?? "");
