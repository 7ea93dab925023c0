// Troubles: what is wrong with which thing, since when, and the ways out, as the server names them.
import { openDialog } from "../dialog.js";
import { h } from "../dom.js";
import { lasting } from "../format.js";
import { button, link, linkButton, trouble } from "../ui.js";
import { act, actButton } from "../actions.js";
import { mark } from "../marks.js";
import { acceptJob, changeLimits, pauseJob } from "./job_actions.js";

export const KINDS = { needs_you: "dead", takes_care: "held", know: "info" };

/** Where the thing itself is shown. */
function placeOf(one) {
  if (one.job && one.job === one.who) return `/jobs/${encodeURIComponent(one.job)}`;
  return one.ways.find((way) => way.place)?.place ?? "";
}

/** A way out: a place, an action, or a command to be run on the server. */
function wayOut(ctx, one, way) {
  if (way.action === "pause") return actButton(ctx, way.text, () => pauseJob(ctx, one.job));
  if (way.action === "acknowledge") return actButton(ctx, way.text, () => acknowledge(ctx, one));
  if (way.action === "accept") return actButton(ctx, way.text, () => acceptJob(ctx, one.job));
  if (way.action === "limits") return actButton(ctx, way.text, () => changeLimits(ctx, one.job));
  if (way.place) return way.place === ctx.path ? null : linkButton(way.place, way.text);
  return way.command ? button(`${way.text}…`, () => showCommand(way)) : null;
}

const acknowledge = (ctx, one) =>
  act(ctx, `/alerts/${encodeURIComponent(one.id)}/actions`, { do: "acknowledge" }, "Acknowledged.");

const showCommand = (way) =>
  openDialog(way.text, ({ close }) => ({
    body: [
      h("p", {}, "On the machine where Gossamer runs:"),
      h("pre", { class: "code", tabindex: "0" }, way.command),
    ],
    foot: button("Close", close, { kind: "main" }),
  }));

export function troubleLine(ctx, one) {
  const isFirst = one.text.startsWith(one.who);
  const isNamed = isFirst || one.text.includes(one.who) || one.who === ctx.job;
  return trouble({
    key: `${one.kind}-${one.job}-${one.who}`,
    kind: KINDS[one.severity] ?? "info",
    who: isNamed && !isFirst ? "" : one.who,
    href: placeOf(one),
    text: isFirst ? one.text.slice(one.who.length) : isNamed ? one.text : `: ${one.text}`,
    since: one.since ? lasting(Math.max(0, ctx.now() - one.since)) : "",
    ways: one.ways.map((way) => wayOut(ctx, one, way)),
  });
}

/** The worst of them, and how many more there are. New ones are said once to those who hear the page. */
export function troubleList(ctx, troubles, { more = 0, calm = "" } = {}) {
  if (!troubles?.length) return calm ? h("p", { key: "well", class: "all-well" }, mark("ok"), calm) : null;
  return [
    h(
      "ul",
      { key: "troubles", class: "troubles", "aria-label": "What is wrong" },
      troubles.map((one) => troubleLine(ctx, one)),
    ),
    more > 0 &&
      h(
        "p",
        { key: "more", class: "sub" },
        `and ${more} more: `,
        link("/?show=open", "look at the jobs below"),
      ),
    h(
      "p",
      { key: "told", class: "visually-hidden", role: "status" },
      troubles
        .filter((one) => one.severity === "needs_you")
        .map((one) => one.text)
        .join(" "),
    ),
  ];
}
