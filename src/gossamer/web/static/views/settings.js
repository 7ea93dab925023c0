// Settings: which value holds, and who set it?
import { act, actButton } from "../actions.js";
import { openDialog } from "../dialog.js";
import { h } from "../dom.js";
import { count } from "../format.js";
import { noMatch, table } from "../table.js";
import { button, field, foreign, head, input, search, section, segments, skeleton, sub, tag } from "../ui.js";
import { apiOf, crumbsOf } from "./shared.js";

const RUNNING = "changed while running";

/** A value as it would be typed. */
export function typed(value) {
  if (value === null || value === undefined) return "none";
  if (
    value === "" ||
    (Array.isArray(value) && !value.length) ||
    (typeof value === "object" && !Object.keys(value).length)
  )
    return "empty";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
/** What was typed, as the server takes it. */
export function untyped(text) {
  const said = text.trim();
  if (said === "none" || said === "empty" || said === "") return null;
  if (said === "true" || said === "false") return said === "true";
  if (Number.isFinite(Number(said))) return Number(said);
  return said;
}
const shown = (value) => (Number.isInteger(value) && value > 9999 ? count(value) : typed(value));
const isSet = (row) => row.layer !== "default";

const setBy = (row) =>
  isSet(row)
    ? h(
        "span",
        { class: "two" },
        h("span", {}, row.layer === RUNNING ? tag(row.layer, "act") : row.layer),
        row.origin && sub(foreign(row.origin, { max: 80 })),
        row.instead_of?.length > 0 &&
          sub(
            "instead of ",
            row.instead_of.map((former) => `${shown(former.value)} (${former.layer})`).join(", "),
          ),
      )
    : sub("default");

const columns = (ctx) => [
  {
    key: "key",
    label: "Setting",
    p: 1,
    cell: (row) => h("code", {}, isSet(row) ? h("b", {}, row.key) : row.key),
  },
  {
    key: "value",
    label: "Value",
    p: 2,
    phone: "wide",
    cell: (row) => h("code", {}, foreign(shown(row.value), { max: 200 })),
  },
  { key: "by", label: "Set by", p: 2, phone: "wide", cell: setBy },
  { key: "means", label: "Meaning", p: 3, cell: (row) => sub(row.meaning ?? "") },
  {
    key: "does",
    label: "",
    right: true,
    p: 2,
    cell: (row) =>
      row.is_live
        ? actButton(ctx, "Change", () => change(ctx, row), { kind: "quiet" })
        : h("span", { class: "sub", title: "Read when a job starts" }, "at start"),
  },
];

function change(ctx, row) {
  const form = { value: typed(row.value) };
  openDialog(`Change ${row.key}`, ({ close }) => {
    const send = () => {
      close();
      act(
        ctx,
        apiOf(ctx, "/actions"),
        { do: "limits", with: { [row.key]: untyped(form.value) }, expect: { [row.key]: row.value } },
        `${row.key} was changed; it holds from the next lease on.`,
        { undone: "The former value holds again." },
      );
    };
    const putBack = () => {
      close();
      act(
        ctx,
        apiOf(ctx, "/actions"),
        { do: "back", with: { [row.key]: null } },
        `${row.key} is as the job was begun.`,
      );
    };
    return {
      body: [
        h("p", {}, row.meaning),
        h(
          "div",
          { class: "form" },
          field(
            "New value",
            input({
              value: form.value,
              oninput: (event) => {
                form.value = event.target.value;
              },
            }),
            { hint: `now ${typed(row.value)}, set by ${row.layer}` },
          ),
        ),
        h(
          "p",
          { class: "hint" },
          "It holds for this job only. The next crawl of this target takes the value of the other layers again.",
        ),
      ],
      foot: [
        button("Keep it", close),
        row.layer === RUNNING && button("Put it back", putBack),
        button("Change it", send, { kind: "main" }),
      ],
    };
  });
}

const GROUPS = {
  "": "The crawl",
  http: "Fetching by http",
  frontier: "Frontier",
  store: "Store",
  parse: "Parsing",
  traps: "Traps",
  browser: "Browser",
};
function groupsOf(rows) {
  const groups = new Map();
  for (const row of rows) {
    const name = row.key.includes(".") ? row.key.split(".")[0] : "";
    groups.set(name, [...(groups.get(name) ?? []), row]);
  }
  return [...groups].map(([name, list]) => [GROUPS[name] ?? name, list, name || "crawl"]);
}

function draw(ctx, data) {
  const rows = data.settings,
    { only = "all", q } = ctx.query,
    live = rows.filter((row) => row.is_live),
    set = rows.filter(isSet),
    running = set.filter((row) => row.layer === RUNNING);
  const fits = rows.filter(
    (row) =>
      (only === "set" ? isSet(row) : only === "live" ? row.is_live : true) && (!q || row.key.includes(q)),
  );
  const changed = running.length
    ? `; ${running
        .map((row) => row.key)
        .slice(0, 3)
        .join(", ")} ${running.length === 1 ? "was" : "were"} changed while it runs`
    : "";
  return [
    head({
      answer: `${set.length} of ${rows.length} settings ${set.length === 1 ? "is" : "are"} set${changed}.`,
      say: "The strongest layer wins: changed while running, command line, environment, spider, file, default. What can be changed now holds from the next lease on.",
    }),
    h(
      "div",
      { key: "filters", class: "filters" },
      search("Part of a name", q, (text) => ctx.set({ q: text })),
      segments(
        "Which settings",
        [
          ["all", "All", rows.length],
          ["set", "Set", set.length],
          live.length > 0 && ["live", "Can change now", live.length],
        ],
        only,
        (value) => ctx.set({ only: value === "all" ? null : value }),
      ),
    ),
    fits.length
      ? groupsOf(fits).map(([title, list, id]) =>
          section(
            title,
            { id: `set-${id}` },
            table({
              id: "settings",
              label: title,
              columns: columns(ctx),
              rows: list,
              idOf: (row) => row.key,
            }),
          ),
        )
      : noMatch(ctx, "No setting is like that.", ["q", "only"]),
  ];
}

export const settings = {
  title: () => "Settings",
  crumbs: (ctx) => crumbsOf(ctx, "Settings"),
  needs: (ctx) => [{ name: "settings", path: apiOf(ctx, "/settings"), every: 5 }],
  draw: (ctx) => ctx.whole("settings", "Settings", skeleton("table", 14), (data) => draw(ctx, data)),
};
