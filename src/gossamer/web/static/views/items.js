// Items: is the data good, and may I have it?
import { addressOf, pathOf } from "../api.js";
import { openDialog, toast } from "../dialog.js";
import { h } from "../dom.js";
import { ago, plural } from "../format.js";
import { mark } from "../marks.js";
import { jobHref } from "../places.js";
import { sheet } from "../sheet.js";
import { freeze, noMatch, pager, table } from "../table.js";
import {
  blank,
  button,
  copyText,
  facts,
  field,
  foreign,
  head,
  lifeHref,
  linkButton,
  search,
  section,
  segments,
  select,
  skeleton,
  sub,
  url,
} from "../ui.js";
import { qualityNeed, qualityOf } from "./quality.js";
import { apiOf, crumbsOf, when } from "./shared.js";

const FILTERS = ["type", "missing", "changed_since", "q"];
const DAY_S = 86_400;
const MOST_FIELDS = 5; // columns of fields that a table has room for
const idOf = (item) => String(item.id);
const question = (ctx) =>
  pathOf(
    apiOf(ctx, "/items"),
    Object.fromEntries([...FILTERS, "cursor"].map((name) => [name, ctx.query[name]])),
  );

const isEmpty = (value) => value === null || value === undefined || value === "";
const ADDRESS = /^https?:\/\/\S+$/i,
  NUMBER = /^-?\d[\d.,]*( ?[A-Z]{3}| ?%)?$/;
/** Whether all values of a field that are there are so. */
const areAll = (rows, name, form) => {
  const values = rows.map((row) => row.data[name]).filter((value) => !isEmpty(value));
  return values.length > 0 && values.every((value) => form.test(String(value)));
};

/** A value of a field, in one line of a table. */
const shortOf = (value) =>
  ADDRESS.test(value)
    ? url(value, { max: 400, plain: true })
    : h("span", { class: "ell" }, valueOf(value, 40));

/** A value of a field as text: what is no text is shown as JSON. */
function valueOf(value, max) {
  if (isEmpty(value)) return h("span", { class: "null" }, "empty");
  return foreign(typeof value === "string" ? value : JSON.stringify(value), { max });
}

/** The fields that most of the shown items have, in the order of the items. */
function fieldsOf(rows) {
  const seen = new Map();
  for (const row of rows) for (const name of Object.keys(row.data)) seen.set(name, (seen.get(name) ?? 0) + 1);
  return [...seen].filter(([, n]) => n * 5 >= rows.length).map(([name]) => name);
}

function columns(ctx, rows) {
  const fields = fieldsOf(rows).slice(0, MOST_FIELDS);
  const titled = fields.find((name) => /^(name|title|headline)$/i.test(name)) ?? fields[0];
  const others = fields.filter((name) => name !== titled);
  return [
    {
      key: "name",
      label: titled ?? "key",
      p: 1,
      cell: (item) => (titled ? valueOf(item.data[titled], 90) : foreign(item.key, { max: 60 })),
    },
    ...others.map((name, i) => {
      const isNumber = areAll(rows, name, NUMBER),
        isAddress = areAll(rows, name, ADDRESS);
      return {
        key: isNumber ? "number" : isAddress ? "address" : "text",
        label: name,
        p: i < 2 ? 2 : i < 3 ? 3 : 4,
        right: isNumber,
        phone: isAddress && "wide",
        cell: (item) => shortOf(item.data[name]),
      };
    }),
    { key: "changed", label: "Changed", right: true, p: 2, cell: (item) => ago(ctx.now() - item.changed_at) },
  ];
}

function browse(ctx, data) {
  const { rows, newer, at, again } = freeze(ctx, "items", data.items, idOf),
    isNarrowed = FILTERS.some((name) => ctx.query[name]);
  if (!rows.length && !isNarrowed)
    return blank({
      title: "No items yet.",
      text: "If pages come and items do not, look at one page: it says what its callback made of it.",
      ways: [linkButton(jobHref(ctx.job, "/attempts", { verdict: "success" }), "See parsed pages")],
    });
  return table({
    id: "items",
    label: "Items",
    columns: columns(ctx, rows),
    rows,
    idOf,
    newer,
    order: { at, again },
    open: (item) => ctx.set({ id: idOf(item) }),
    chosen: ctx.query.id,
    empty: noMatch(ctx, "No item is like that.", FILTERS, { next: data.next_cursor }),
    foot: pager(ctx, {
      shown: rows.length,
      total: data.total,
      isAtLeast: data.total_is_at_least,
      what: "items, latest change first",
      next: data.next_cursor,
    }),
  });
}

function filters(ctx, found) {
  const fields = [...new Set([...fieldsOf(found?.items ?? []), ctx.query.missing].filter(Boolean))];
  const hourAgo = String(Math.floor(ctx.now() / 3600) * 3600 - 3600),
    dayAgo = String(Math.floor(ctx.now() / DAY_S) * DAY_S - DAY_S);
  return h(
    "div",
    { key: "filters", class: "filters" },
    search("Text in any field", ctx.query.q, (q) => ctx.set({ q, cursor: null })),
    select(
      [
        ["", "changed at any time"],
        [hourAgo, "changed in the last hour"],
        [dayAgo, "changed since yesterday"],
      ],
      ctx.query.changed_since,
      {
        "aria-label": "Changed since",
        onchange: (event) => ctx.set({ changed_since: event.target.value, cursor: null }),
      },
    ),
    fields.length > 0 &&
      select(
        [["", "no field missing"], ...fields.map((name) => [name, `without ${name}`])],
        ctx.query.missing,
        {
          "aria-label": "Missing field",
          onchange: (event) => ctx.set({ missing: event.target.value, cursor: null }),
        },
      ),
  );
}

// ---------------------------------------------------------------- one item, and files

function itemSheet(ctx) {
  const rows = ctx.memory["rows-items"],
    item = rows?.last.get(ctx.query.id);
  if (!item) return null;
  const json = JSON.stringify(item.data, null, 2);
  return sheet(
    ctx,
    {
      title: [foreign(item.key, { max: 80 }), sub(" ", foreign(item.type, { max: 40 }))],
      param: "id",
      neighbours: rows.order,
      id: ctx.query.id,
      what: "item",
    },
    h(
      "p",
      { class: "say" },
      `First seen ${ago(ctx.now() - item.first_seen)}, last changed ${ago(ctx.now() - item.changed_at)}.`,
    ),
    h(
      "div",
      { class: "does" },
      button(
        "Copy as JSON",
        () =>
          copyText(json).then(
            () => toast("Copied."),
            () => toast("This browser does not let the page copy."),
          ),
        { icon: "copy" },
      ),
      item.url && linkButton(lifeHref(item.url, ctx.job), "See its page"),
    ),
    section(
      "Fields",
      { level: 3, id: "item-fields" },
      facts(
        Object.entries(item.data).map(([name, value]) => [foreign(name, { max: 60 }), valueOf(value, 400)]),
      ),
    ),
    section(
      "Where it is from",
      { level: 3, id: "item-from" },
      facts([
        item.url && ["Page", url(item.url, { max: 80, job: ctx.job })],
        ["Key", h("code", {}, foreign(item.key, { max: 120 }))],
        ["First seen", when(ctx, item.first_seen)],
        ["Last seen", when(ctx, item.last_seen)],
        ["Changed", when(ctx, item.changed_at)],
      ]),
    ),
  );
}

function download(ctx, data) {
  const form = { format: data.formats[0], type: ctx.query.type ?? "", only: "all", isSafe: false },
    types = data.types ?? [];
  openDialog("Download items", ({ close, again }) => {
    const bind = (name) => ({
      onchange: (event) => {
        form[name] = event.target.value;
        again();
      },
    });
    const query = {
      format: form.format,
      type: form.type,
      safe_csv: form.format === "csv" && form.isSafe ? "true" : null,
      ...(form.only === "shown"
        ? { missing: ctx.query.missing, q: ctx.query.q, changed_since: ctx.query.changed_since }
        : {}),
    };
    return {
      body: [
        h(
          "div",
          { class: "form" },
          field(
            "Which",
            select(
              [
                ["all", "all of this job"],
                ["shown", "those shown now (filters)"],
              ],
              form.only,
              bind("only"),
            ),
          ),
          types.length > 0 &&
            field("Type", select([["", "all"], ...types.map(([type]) => type)], form.type, bind("type"))),
          field("Format", select(data.formats, form.format, bind("format"))),
        ),
        form.format === "csv" && safeBox(form, again),
        h(
          "p",
          {},
          "The file is streamed and can be stopped at any time. The same by command line: ",
          h("code", {}, `gossamer export ${ctx.job} -o items.${form.format === "excel" ? "xlsx" : form.format}`),
        ),
      ],
      foot: [
        button("Close", close),
        h(
          "a",
          {
            class: "btn main",
            href: addressOf(pathOf(apiOf(ctx, "/export"), query)),
            download: true,
            onclick: () => setTimeout(close, 0),
          },
          mark("save"),
          "Download",
        ),
      ],
    };
  });
}

const safeBox = (form, again) =>
  h(
    "label",
    { class: "check last" },
    h("input", {
      type: "checkbox",
      checked: form.isSafe,
      onchange: (event) => {
        form.isSafe = event.target.checked;
        again();
      },
    }),
    h(
      "span",
      {},
      "Safe for spreadsheets ",
      h("span", { class: "sub" }, "(an apostrophe before texts that would run as formulas)"),
    ),
  );

/** Of how many pages they are; where only some are shown, that would say nothing. */
const ofPages = (ctx) => {
  const pages = ctx.data("job")?.pages;
  return pages && !FILTERS.some((name) => ctx.query[name]) ? ` of ${plural(pages, "page")}` : "";
};

export const items = {
  title: () => "Items",
  crumbs: (ctx) => crumbsOf(ctx, "Items"),
  needs: (ctx) => [
    { name: "items", path: question(ctx), every: ctx.query.cursor ? 0 : 5, keep: true },
    qualityNeed(ctx),
  ],
  sideId: (ctx) => ctx.query.id,
  side: (ctx) => ctx.query.id && itemSheet(ctx),
  draw: (ctx) => {
    const found = ctx.data("items"),
      quality = ctx.data("quality");
    const types = (found?.types ?? []).map(([type, n]) => [type, type, n]);
    return [
      head({
        answer: quality?.say[0]
          ? foreign(quality.say[0], { max: 300 })
          : found?.total
            ? `${found.total_is_at_least ? "More than " : ""}${plural(found.total, "item")}${ofPages(ctx)}.`
            : "Items",
        say: quality?.say[1] && foreign(quality.say[1], { max: 500 }),
        does: found?.items?.length
          ? button("Download…", () => download(ctx, found), { kind: "main", icon: "save" })
          : null,
      }),
      ctx.show("quality", (data) => qualityOf(ctx, data), { waiting: skeleton("table", 4), what: "The quality" }),
      section(
        "Browse",
        {
          meta:
            types.length > 1 &&
            segments("Type", [["", "All"], ...types], ctx.query.type ?? "", (type) =>
              ctx.set({ type, cursor: null }),
            ),
        },
        filters(ctx, found),
        ctx.show("items", (data) => browse(ctx, data), { waiting: skeleton("table", 8), what: "The items" }),
      ),
    ];
  },
};
