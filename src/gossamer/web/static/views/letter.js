// One dead letter, in a sheet: why it was given up, every try, the traceback, the request.
import { actButton } from "../actions.js";
import { toast } from "../dialog.js";
import { h } from "../dom.js";
import { count, plural, size } from "../format.js";
import { sheet } from "../sheet.js";
import { button, copyText, facts, foreign, lifeHref, link, section, skeleton, url } from "../ui.js";
import { dropLetters, editLetters, retryLetters } from "./dead_actions.js";
import { isTraceback, life, ownPlace, traceback, when } from "./shared.js";

const LONG = 420;

export function letterSheet(ctx, neighbours, id) {
  const letter = ctx.data("letter"),
    title = [`Letter ${count(Number(id))}`, letter && h("span", { class: "sub" }, " ", letter.reason)];
  return sheet(
    ctx,
    { title, param: "id", neighbours, id, what: "letter" },
    ctx.show("letter", (one) => body(ctx, one), { waiting: skeleton("lines", 10), what: "This letter" }),
  );
}

function body(ctx, letter) {
  const tries = letter.tries ?? [],
    detail =
      [...tries]
        .sort((a, b) => b.at - a.at)
        .map((one) => one.detail)
        .find(Boolean) ?? "";
  const which = { filter: { ids: [letter.id] }, count: 1, is_all: false };
  const place = isTraceback(detail) ? ownPlace(detail) : "";
  return [
    h(
      "p",
      { class: "say" },
      h("b", {}, `It was given up: ${letter.reason_text}.`),
      place && [" Look at ", foreign(place, { max: 200 }), "."],
    ),
    h(
      "div",
      { class: "does" },
      actButton(ctx, "Retry", () => retryLetters(ctx, which), { kind: "main", key: "r" }),
      actButton(ctx, "Edit and retry…", () => editLetters(ctx, which, letter), { key: "e" }),
      actButton(ctx, "Drop…", () => dropLetters(ctx, which), { kind: "grave" }),
    ),
    section(
      "URL",
      { level: 3, id: "letter-url", meta: link(lifeHref(letter.url, ctx.job), "its whole life") },
      h("p", { class: "mono" }, url(letter.url, { max: LONG, plain: true })),
      letter.url.length > LONG &&
        h(
          "p",
          { class: "sub" },
          `${count(letter.url.length)} characters; the middle is not shown. `,
          button("Copy it all", () => copy(letter.url), { kind: "quiet", icon: "copy" }),
        ),
    ),
    section(plural(tries.length, "attempt"), { level: 3, id: "letter-tries" }, life(ctx, tries)),
    detail &&
      (isTraceback(detail)
        ? section(
            "Traceback",
            { level: 3, id: "letter-trace", meta: "your lines are marked" },
            traceback(detail),
          )
        : section(
            "What came",
            { level: 3, id: "letter-detail" },
            h("pre", { class: "code", tabindex: "0" }, foreign(detail, { max: 4000 })),
          )),
    section("Request", { level: 3, id: "letter-request" }, requestFacts(ctx, letter)),
  ];
}

function requestFacts(ctx, letter) {
  const headers = Object.entries(letter.headers ?? {}),
    meta = Object.keys(letter.meta ?? {}).length ? JSON.stringify(letter.meta) : "";
  return facts([
    ["Method", letter.method],
    ["Callback", h("code", {}, foreign(letter.callback ?? "parse", { max: 60 }))],
    ["Host", foreign(letter.host, { max: 80 })],
    letter.via && ["Found on", url(letter.via, { max: 60, job: ctx.job })],
    ["Depth, priority", `${letter.depth}, ${letter.priority}`],
    letter.body_bytes > 0 && ["Body", foreign(letter.body, { max: 200 }), ` (${size(letter.body_bytes)})`],
    headers.length > 0 && [
      "Headers",
      headers.map(([name, value]) =>
        h("div", {}, h("code", {}, foreign(name, { max: 60 })), ": ", foreign(value, { max: 200 })),
      ),
    ],
    meta && ["meta", h("code", {}, foreign(meta, { max: 400 }))],
    letter.session && ["Session", foreign(letter.session, { max: 60 })],
    ["Given up", when(ctx, letter.died_at)],
  ]);
}

const copy = (text) =>
  copyText(text).then(
    () => toast("Copied."),
    () => toast("This browser does not let the page copy."),
  );
