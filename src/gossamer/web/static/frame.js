// The frame around every view: rail, bar, the views of a job on a phone, and the banner without a connection.
import { tell } from "./api.js";
import { openRail } from "./dialog.js";
import { h } from "./dom.js";
import { clock, duration, share, short } from "./format.js";
import { openGoTo } from "./goto.js";
import { openKeys } from "./keys.js";
import { brandMark, jobMark, mark } from "./marks.js";
import { FLEET, jobHref, OF_JOB } from "./places.js";
import { button, foreign, iconButton, middle, select } from "./ui.js";

export function drawFrame(app, view) {
  const { ctx } = app,
    side = view.side?.(ctx) ?? null;
  return [
    h("a", { key: "skip", class: "skip", href: "#content" }, "To the content"),
    h(
      "div",
      { key: "frame", class: "frame" },
      rail(app),
      bar(app, view),
      h(
        "div",
        { key: "body", class: "body" },
        app.live.isLost && banner(app),
        ctx.job && jobNav(ctx),
        h(
          "main",
          {
            key: `main-${ctx.path}`,
            id: "content",
            tabindex: "-1",
            "aria-busy": app.parts.areWaiting ? "true" : null,
          },
          h(
            "div",
            { class: ["with-side", side && "open"] },
            h("div", { key: "view", class: ["view", app.live.isLost && "offline"] }, view.draw(ctx)),
            side &&
              h(
                "aside",
                {
                  key: "side",
                  class: "side",
                  tabindex: "-1",
                  "aria-label": "Details",
                  "data-id": view.sideId(ctx),
                },
                side,
              ),
          ),
        ),
      ),
    ),
  ];
}

export const drawAlone = (app, view) => [
  h("main", { key: "alone", class: "alone", id: "content", tabindex: "-1" }, view.draw(app.ctx)),
];

// ---------------------------------------------------------------- rail

function rail(app) {
  const { ctx, me } = app,
    job = app.railJob;
  return h(
    "nav",
    { key: "rail", class: "rail", id: "rail", "aria-label": "Places" },
    h(
      "a",
      { class: "brand", href: "/" },
      brandMark(),
      h("span", {}, "gossamer"),
      h("span", { class: "sub" }, me?.fleet ?? ""),
    ),
    FLEET.filter(([address]) => isOffered(me, address)).map(([address, name]) =>
      place(ctx, address, name, fleetCount(app, address)),
    ),
    job && [
      h("h2", { key: "h-job" }, "Job"),
      jobSwitch(app, job),
      OF_JOB.map(([end, name]) => place(ctx, jobHref(job, end), name, jobCount(app, job, end))),
    ],
    h("h2", { key: "h-ask" }, "Ask"),
    place(ctx, "/page", "One page’s life"),
    railFoot(app),
  );
}

/** A place that this server has nothing for is not shown. */
const isOffered = (me, address) =>
  !me || (address === "/workers" ? Boolean(me.fleet) : address !== "/proxies" || me.has_proxies);

const place = (ctx, href, name, [count, kind] = []) =>
  h(
    "a",
    { key: `p-${href}`, class: "place", href, "aria-current": ctx.path === href ? "page" : null },
    h("span", {}, name),
    count !== undefined && count !== null && h("span", { class: ["n", kind] }, count),
  );

/** What is worth going there for, never the size of the table. */
function fleetCount(app, address) {
  const data = app.parts.get("overview")?.data;
  if (!data) return [];
  const { needs = 0, workers, proxies_dead: dead } = data.rail ?? {};
  if (address === "/") return needs ? [String(needs), "dead"] : [];
  if (address === "/workers" && workers)
    return [
      workers.silent ? `${workers.at_work} of ${workers.all}` : String(workers.all),
      workers.silent ? "held" : "",
    ];
  if (address === "/proxies" && dead) return [dead === 1 ? "1 rests" : `${dead} rest`, "held"];
  return [];
}

function jobCount(app, id, end) {
  const listed = app.parts.get("overview")?.data?.jobs?.find((one) => one.job === id),
    own = app.ctx.job === id ? app.parts.get("job")?.data : null;
  const now = own ?? listed;
  if (!now) return [];
  if (end === "/hosts" && now.hosts_held) return [`${now.hosts_held} held`, "held"];
  if (end === "/errors" && now.failed_share) return [share(now.failed_share)];
  if (end === "/dead" && now.dead) return [short(now.dead), now.trouble_kind === "dead" ? "dead" : ""];
  if (end === "/items" && now.items) return [short(now.items)];
  return [];
}

function jobSwitch(app, id) {
  const listed =
    app.parts.get("overview")?.data?.jobs?.find((one) => one.job === id) ??
    (app.ctx.job === id ? app.parts.get("job")?.data : null);
  return h(
    "button",
    {
      key: "which",
      type: "button",
      class: "which",
      onclick: () => openGoTo(app, { onlyJobs: true }),
      "aria-label": `Job ${id}${listed ? `, ${listed.state}` : ""}. Choose another.`,
    },
    listed ? jobMark(listed) : mark("running"),
    h("span", { class: "ell" }, middle(id, { tail: 4 })),
    mark("down"),
  );
}

function railFoot(app) {
  const { me } = app,
    theme = document.documentElement.dataset.theme ?? "";
  return h(
    "div",
    { key: "foot", class: "rail-foot" },
    h(
      "label",
      { class: "who" },
      h("span", {}, "Theme"),
      select([["", "of the system"], "light", "dark"], theme, {
        onchange: (event) => chooseTheme(event.target.value),
      }),
    ),
    me &&
      h(
        "p",
        { class: "who" },
        h("span", {}, me.is_local ? "no token needed" : ["token ", foreign(me.name, { max: 18 })]),
        h("span", {}, `role ${me.role}`),
      ),
    h(
      "p",
      { class: "who" },
      button("Keys", () => openKeys(), { kind: "quiet", icon: "keys", key: "?" }),
      me?.is_session && button("Sign out", () => signOut(app), { kind: "quiet" }),
    ),
  );
}

function chooseTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  localStorage.setItem("gossamer.theme", theme);
}

async function signOut(app) {
  await tell("/session", undefined, { method: "DELETE" }).catch(() => {});
  app.signedOut();
}

// ---------------------------------------------------------------- bar

function bar(app, view) {
  const crumbs = view.crumbs?.(app.ctx) ?? [view.title(app.ctx)];
  return h(
    "header",
    { key: "bar", class: "bar" },
    iconButton("menu", "Places", () => openRail(), {
      class: "btn icon menu-btn",
      "aria-controls": "rail",
      "aria-expanded": "false",
    }),
    h(
      "nav",
      { class: "crumbs", "aria-label": "Where you are" },
      crumbs.map((crumb, i) => [
        i > 0 && h("span", { class: "far", "aria-hidden": "true" }, "/"),
        Array.isArray(crumb)
          ? h("a", { class: "far", href: crumb[0] }, foreign(crumb[1], { max: 40 }))
          : h("b", { "aria-current": "page" }, foreign(crumb, { max: 40 })),
      ]),
    ),
    h(
      "button",
      {
        type: "button",
        class: "go",
        onclick: () => openGoTo(app),
        "aria-label": "Go to a job or host, or paste a URL to explain it",
        "aria-keyshortcuts": "/",
      },
      mark("search"),
      h("span", {}, "Go to a job or host, or paste a URL"),
      h("kbd", { "aria-hidden": "true" }, "/"),
    ),
    alive(app),
  );
}

/** The time of the server's latest frame; a click holds all numbers. */
function alive(app) {
  const { live, isHeld } = app,
    at = clock(app.now());
  const text = live.isLost ? "No connection" : isHeld ? `Held at ${at}` : `Live ${at}`;
  return h(
    "button",
    {
      type: "button",
      class: ["alive", live.isLost && "gone", isHeld && "hold"],
      "aria-pressed": String(isHeld),
      onclick: () => app.hold(),
      title: isHeld
        ? "Numbers stand still. Press . to go on."
        : "Numbers follow the crawl. Press . to hold them.",
    },
    h("i", { "aria-hidden": "true" }),
    h("span", { class: "alive-text" }, text),
  );
}

function jobNav(ctx) {
  return h(
    "nav",
    { key: "jobnav", class: "jobnav", "aria-label": `Views of ${ctx.job}` },
    OF_JOB.map(([end, name]) => {
      const href = jobHref(ctx.job, end),
        isHere = ctx.path === href;
      return h(
        "a",
        { key: end, href, "aria-current": isHere ? "page" : null, made: isHere ? scrollTo : null },
        name,
      );
    }),
  );
}
const scrollTo = (node) =>
  requestAnimationFrame(() => {
    if (node.parentNode) node.parentNode.scrollLeft = node.offsetLeft - 60;
  });

function banner(app) {
  const { live } = app,
    silent_s = (Date.now() - live.heardAt) / 1000,
    next_s = Math.max(0, (live.nextTry - Date.now()) / 1000);
  return h(
    "div",
    { key: "banner", class: "banner", role: "alert" },
    mark("held"),
    h(
      "p",
      {},
      h("b", {}, `No connection to the dashboard’s server since ${clock(live.heardAt / 1000)}.`),
      h(
        "span",
        { "aria-live": "off" },
        ` What you see is ${duration(Math.round(silent_s))} old. The crawls do not depend on this page. ${next_s >= 1 ? `Trying again in ${duration(Math.round(next_s))}.` : "Trying now."}`,
      ),
    ),
    button("Try now", () => live.tryNow()),
  );
}
