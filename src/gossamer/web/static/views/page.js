// One page's life: why was it fetched, was not, is not yet?
import { act, actButton } from "../actions.js";
import { pathOf } from "../api.js";
import { h } from "../dom.js";
import { count, cut, moment, plural } from "../format.js";
import { mark } from "../marks.js";
import { jobHref } from "../places.js";
import { facts, foreign, head, input, link, linkButton, section, skeleton, tag, url } from "../ui.js";
import { life, when } from "./shared.js";

const MARKS = {
  done: "ok",
  redirected: "ok",
  dead: "dead",
  retrying: "held",
  delayed: "held",
  over_budget: "held",
  stopped: "held",
};
const question = (ctx) =>
  ctx.query.url ? pathOf("/explain", { url: ctx.query.url, job: ctx.query.job }) : null;

function ask(ctx) {
  const jobs = ctx.data("overview")?.jobs?.map((one) => one.job) ?? [];
  const named = ctx.query.job && !jobs.includes(ctx.query.job) ? [ctx.query.job] : [];
  const submit = (event) => {
    event.preventDefault();
    const { url: address, job } = event.target.elements;
    if (address.value.trim()) ctx.set({ url: cut(address.value.trim(), 4000), job: job.value || null });
  };
  return h(
    "form",
    { key: "ask", class: "ask", role: "search", onsubmit: submit },
    input({
      name: "url",
      value: ctx.query.url ?? "",
      "aria-label": "URL to explain",
      placeholder: "https://…",
      inputmode: "url",
    }),
    h(
      "select",
      { name: "job", "aria-label": "Job", value: ctx.query.job ?? "" },
      h("option", { value: "" }, "the newest that knows it"),
      [...named, ...jobs].map((id) => h("option", { key: id, value: id }, id)),
    ),
    h("button", { type: "submit", class: "btn main" }, "Explain"),
  );
}

/** What can be done with it, by what has become of it. */
function ways(ctx, data) {
  const host = hostOf(data.canonical ?? data.url),
    path = `/jobs/${encodeURIComponent(data.job)}`;
  const fetchIt = (label, said) =>
    actButton(
      ctx,
      label,
      () =>
        act(
          ctx,
          `${path}/actions`,
          { do: "fetch", with: { url: data.canonical ?? data.url } },
          said,
        ),
      {},
    );
  const seeHost = host && linkButton(jobHref(data.job, "/hosts", { host }), "See its host");
  const open =
    /^https?:/i.test(data.canonical ?? "") &&
    h(
      "a",
      { class: "btn", href: data.canonical, rel: "noreferrer noopener nofollow", target: "_blank" },
      "Open the site",
      mark("out"),
    );
  if (data.dead_letter)
    return [
      linkButton(jobHref(data.job, "/dead", { id: data.dead_letter }), "See its dead letter", {
        kind: "main",
      }),
      seeHost,
      open,
    ];
  if (data.page_answer === "done") return [fetchIt("Fetch it again", "It waits for its host’s turn."), open];
  if (data.page_answer === "never_seen")
    return [fetchIt("Fetch it now", "It was admitted and waits for its host’s turn."), seeHost, open];
  if (data.page_answer === "waiting")
    return [fetchIt("Fetch it first", "It is the next of its host."), seeHost, open];
  return [seeHost, open];
}
function hostOf(address) {
  try {
    return new URL(address).host;
  } catch {
    return "";
  }
}

function answer(ctx, data) {
  const [first, ...more] = data.lines,
    kind = MARKS[data.page_answer] ?? "info";
  return [
    h(
      "header",
      { key: "head", class: "head" },
      h(
        "p",
        { class: "over" },
        mark(kind),
        h("b", {}, data.answer.replaceAll("_", " ")),
        " · ",
        link(jobHref(data.job), foreign(data.job, { max: 40 })),
        " · ",
        url(data.canonical ?? data.url, { plain: true, max: 100 }),
      ),
      h("h1", { class: "answer" }, foreign(first, { max: 600 })),
      h(
        "div",
        { class: "say" },
        more.map((line) => h("p", {}, foreign(line, { max: 1000 }))),
      ),
      h("div", { class: "does" }, ways(ctx, data)),
    ),
    h(
      "div",
      { key: "cols", class: "cols halves" },
      h(
        "div",
        {},
        data.tries.length > 0 &&
          section(
            "Its life",
            { id: "life", meta: "waiting is drawn short, and says how long" },
            life(ctx, data.tries),
          ),
        data.via?.length > 0 &&
          section(
            "How it was found",
            { id: "via", meta: data.via[0].how === "seed" ? "seed first" : "the latest steps" },
            h(
              "ol",
              { class: "chain" },
              data.via.map((step, i) =>
                h(
                  "li",
                  { css: { "--d": String(Math.min(i, 12)) } },
                  url(step.url, { max: 64, job: data.job }),
                  h(
                    "span",
                    { class: "sub" },
                    [step.how, step.at ? moment(step.at, ctx.now(), true) : ""].filter(Boolean).join(", "),
                  ),
                ),
              ),
            ),
          ),
        others(ctx, data),
      ),
      h("div", {}, known(ctx, data), items(ctx, data), dropped(ctx, data)),
    ),
  ];
}

function known(ctx, data) {
  const at = (t) => when(ctx, t);
  return section(
    "What is known",
    { id: "known" },
    facts([
      ["Job", link(jobHref(data.job), foreign(data.job, { max: 60 })), ` (${data.job_state})`],
      ["Method", data.method],
      data.duplicate_of && ["The same as", url(data.duplicate_of, { max: 80, job: data.job })],
      ["Tried", plural(data.attempts, "time")],
      data.attempts > 0 && [
        "Latest answer",
        data.status ? String(data.status) : "none",
        data.reason && [" ", tag(data.reason)],
      ],
      data.last_at && ["Latest try", at(data.last_at)],
      data.due_at && ["Not before", at(data.due_at)],
      data.host_next_at && ["Its host’s next turn", at(data.host_next_at)],
      data.leased_at && ["In hand since", at(data.leased_at)],
      data.deadline && ["Lease ends", at(data.deadline)],
      data.rung && [
        "Rung of its host",
        data.rung,
        data.rung_since && [" since ", at(data.rung_since)],
        data.rung_why && [": ", foreign(data.rung_why, { max: 120 })],
      ],
      data.refused && ["Left out by", h("code", {}, data.refused)],
      ["Items from it", count(data.items)],
    ]),
  );
}

const others = (ctx, data) =>
  data.other_requests.length
    ? section(
        "Other requests to it",
        { id: "others" },
        h(
          "ul",
          { class: "rows" },
          data.other_requests.map((one) =>
            h(
              "li",
              {},
              h("span", {}, foreign(one.lines[0], { max: 200 })),
              tag(one.answer.replaceAll("_", " ")),
              h("span", { class: "sub" }, `${one.method}, ${plural(one.tries.length, "try", "tries")}`),
            ),
          ),
        ),
      )
    : null;

/** What tells an item from others of its type: its name, or else its key. */
function titleOf(item) {
  const name = Object.keys(item.data).find((key) => /^(name|title|headline)$/i.test(key)),
    value = name && item.data[name];
  return typeof value === "string" && value ? value : item.key;
}

const dropped = (ctx, data) =>
  data.dropped_items?.length
    ? section(
        "Items of it that were dropped",
        { id: "dropped", meta: "examples" },
        h(
          "ul",
          { class: "rows" },
          data.dropped_items.map((one) =>
            h(
              "li",
              { key: `${one.reason}-${one.at}` },
              h("span", {}, foreign(one.reason, { max: 120 })),
              tag(one.stage || one.type),
              h("span", { class: "sub" }, one.value && foreign(one.value, { max: 80 })),
            ),
          ),
        ),
      )
    : null;

const items = (ctx, data) =>
  data.found_items.length
    ? section(
        "Items found on it",
        {
          id: "items",
          meta: data.items > data.found_items.length ? `${data.found_items.length} of ${count(data.items)}` : "",
        },
        h(
          "ul",
          { class: "rows" },
          data.found_items.map((item) =>
            h(
              "li",
              { key: String(item.id) },
              h("span", {}, foreign(titleOf(item), { max: 90 })),
              tag(item.type),
              h("span", { class: "sub" }, "changed ", when(ctx, item.changed_at)),
            ),
          ),
        ),
      )
    : null;

export const page = {
  title: (ctx) =>
    ctx.query.url ? (ctx.data("explain")?.answer?.replaceAll("_", " ") ?? "One page") : "One page",
  crumbs: () => [["/", "Overview"], "One page’s life"],
  needs: (ctx) => [question(ctx) && { name: "explain", path: question(ctx), every: 5 }],
  draw: (ctx) =>
    ctx.query.url
      ? [
          ask(ctx),
          ctx.part("explain")?.data ? null : head({ answer: "One page’s life" }),
          ctx.show("explain", (data) => answer(ctx, data), {
            waiting: skeleton("lines", 10),
            what: "The page’s life",
          }),
        ]
      : [
          head({
            answer: "Why was a page fetched, or not, or not yet?",
            say: "Paste its URL. No host is asked: the answer comes from the queue, the ledger, what is remembered of robots.txt, and the spider’s scope.",
          }),
          ask(ctx),
        ],
};
