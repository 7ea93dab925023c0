// Starting a crawl, and what is seen before there was one.
import { tell } from "../api.js";
import { toast } from "../dialog.js";
import { h } from "../dom.js";
import { jobHref } from "../places.js";
import { field, head, input, section } from "../ui.js";

const LIMITS = [
  ["Pages at most", "max_pages", "no limit", "max_pages"],
  ["Hops from the start", "max_depth", "no limit", "max_depth"],
  [
    "Seconds between two requests to a host",
    "delay",
    "follows the host",
    "delay: never shorter than robots.txt asks",
  ],
  ["Requests at once at a host", "per_host", "1", "per_host"],
];
const ARGUMENT = /^[A-Za-z_]\w*=/;

function read(form) {
  const settings = {},
    args = {},
    faults = {};
  for (const [, name] of LIMITS) {
    const text = form[name]?.trim();
    if (!text) continue;
    if (Number.isFinite(Number(text)) && Number(text) >= 0) settings[name] = Number(text);
    else faults[name] = "A number, such as 100.";
  }
  for (const one of (form.args ?? "").split(/\s+/).filter(Boolean)) {
    if (ARGUMENT.test(one)) args[one.slice(0, one.indexOf("="))] = one.slice(one.indexOf("=") + 1);
    else faults.args = "KEY=VALUE, one after the other, with blanks between.";
  }
  if (form.contact?.trim()) settings.contact = form.contact.trim();
  if (!form.target?.trim())
    faults.target = "Say what to crawl: a URL, the name of a spider, or FILE.py:Class.";
  return { document: { target: form.target?.trim(), arguments: args, settings }, faults };
}

async function start(ctx, state) {
  const { document: order, faults } = read(state.form);
  state.faults = faults;
  state.error = "";
  if (Object.keys(faults).length) {
    ctx.redraw();
    window.document.getElementById(faults.target ? "target" : `n-${Object.keys(faults)[0]}`)?.focus();
    return;
  }
  state.isBusy = true;
  ctx.redraw();
  try {
    const answer = await tell("/jobs", order);
    const id = answer.job;
    toast(`${id} was started.`);
    ctx.go(jobHref(id));
  } catch (error) {
    state.error = error.message;
  }
  state.isBusy = false;
  ctx.redraw();
}

export function startForm(ctx) {
  const state = (ctx.memory.start ??= { form: {}, faults: {}, error: "", isBusy: false }),
    why = ctx.cannotAct,
    known = ctx.me?.spiders ?? [];
  const bind = (name) => ({
    value: state.form[name] ?? "",
    oninput: (event) => {
      state.form[name] = event.target.value;
    },
  });
  const small = ([label, name, placeholder, hint]) =>
    field(label, input({ placeholder, inputmode: "decimal", ...bind(name) }), {
      id: `n-${name}`,
      hint,
      error: state.faults[name],
    });
  return h(
    "form",
    {
      key: "start",
      class: "start",
      onsubmit: (event) => {
        event.preventDefault();
        start(ctx, state);
      },
    },
    field(
      "What to crawl",
      input({ class: "big", placeholder: "https://shop.example/  or  shops.py:Shops", ...bind("target") }),
      {
        id: "target",
        error: state.faults.target,
        hint: `A URL keeps the text of every page of its site. A spider keeps what you wrote it for.${known.length ? ` Spiders here: ${known.slice(0, 12).join(", ")}.` : ""}`,
      },
    ),
    h("div", { class: "form" }, LIMITS.map(small)),
    h(
      "details",
      {},
      h("summary", {}, "More settings"),
      h(
        "div",
        { class: "form" },
        field("Spider arguments", input({ placeholder: "region=eu", ...bind("args") }), {
          id: "n-args",
          hint: "as on the command line: -a KEY=VALUE",
          error: state.faults.args,
        }),
        field("Contact", input({ placeholder: "you@example.org", ...bind("contact") }), {
          id: "n-contact",
          hint: "part of the User-Agent, so that owners can write to you",
        }),
      ),
    ),
    state.error && h("p", { class: "field-error", role: "alert" }, state.error),
    h(
      "div",
      { class: "run" },
      h(
        "button",
        {
          type: "submit",
          class: "btn main",
          disabled: Boolean(why) || state.isBusy || null,
          title: why || null,
        },
        "Start the crawl",
      ),
      h(
        "p",
        { class: "sub" },
        "The same as ",
        h("code", {}, `gossamer ${ctx.me?.fleet ? "submit" : "crawl"} TARGET`),
        ". It can be paused and changed at any time.",
      ),
    ),
  );
}

/** What the overview is before the first job. */
export function firstRun(ctx) {
  const ready = ctx.me?.ready ?? [];
  return [
    head({
      answer: "Nothing has been crawled yet.",
      say: "Start with a page of your own, or of a site whose owner does not mind: one request at a time per host, robots.txt obeyed, at the pace of the host.",
    }),
    startForm(ctx),
    section(
      "Or without a site at hand",
      { id: "demo" },
      h(
        "p",
        { class: "say" },
        "The package has a small shop to crawl, served on this machine only: ",
        h("code", {}, "gossamer demo"),
        ". To look at that crawl here: ",
        h("code", {}, "gossamer dashboard --data .gossamer/demo"),
        ".",
      ),
    ),
    ready.length > 0 &&
      section(
        "Ready to work",
        { id: "ready" },
        h(
          "ul",
          { class: "rows" },
          ready.map(([what, how]) => h("li", {}, h("span", {}, what), h("span", { class: "sub" }, how))),
        ),
      ),
  ];
}

export const newCrawl = {
  title: () => "Start a crawl",
  crumbs: () => [["/", "Overview"], "Start a crawl"],
  draw: (ctx) => [head({ answer: "Start a crawl" }), startForm(ctx)],
};
