// Dialogs and toasts: what stands over a view for a while.
import { build, h, patch } from "./dom.js";
import { button, iconButton } from "./ui.js";

/**
 * Opens a dialog. `draw({close, again})` gives `{body, foot}`; `again` draws it anew, after something in it changed.
 * The focus goes to what has `autofocus`, else to the first control, and back to where it was at the end.
 */
export function openDialog(title, draw, { wide = false } = {}) {
  const back = document.activeElement;
  const box = build(h("dialog", { class: ["dialog", wide && "wide"], "aria-labelledby": "dialog-title" }));
  const close = () => box.close();
  const again = () => {
    const { body, foot } = draw({ close, again });
    patch(box, [
      h(
        "form",
        { method: "dialog", onsubmit: (event) => event.preventDefault() },
        h("h2", { id: "dialog-title" }, title),
        body,
        h("div", { class: "dialog-foot" }, foot),
      ),
    ]);
  };
  box.addEventListener("close", () => {
    box.remove();
    if (back?.isConnected) back.focus({ preventScroll: true });
  });
  document.body.append(box);
  again();
  box.showModal();
  (box.querySelector("[autofocus]") ?? box.querySelector("input,select,textarea,button"))?.focus();
  return { close, again };
}

export const isDialogOpen = () => document.querySelector("dialog[open]") !== null;

/** Asks before something that has no way back, or touches much: what will happen, in numbers; the harmless way has the focus. */
export const confirmDo = ({ title, lines, list = [], leave, does }) =>
  openDialog(title, ({ close }) => ({
    body: [
      lines.filter(Boolean).map((line) => h("p", {}, line)),
      list.length > 0 &&
        h(
          "ul",
          {},
          list.map((line) => h("li", {}, line)),
        ),
    ],
    foot: [
      h("button", { type: "button", class: "btn", autofocus: true, onclick: close }, h("span", {}, leave)),
      does.map(([label, act, kind]) =>
        button(
          label,
          () => {
            close();
            act();
          },
          { kind },
        ),
      ),
    ],
  }));

const TOAST_S = 12;
const PLAIN_TOAST_S = 6; // without a way back
/**
 * What was done, with its way back. It stays while it is pointed at or has the focus, and while `progress` says how far
 * it has got ("": it is over); `say` is how it came out.
 */
export function toast(text, { undo, kind = "" } = {}) {
  const box = document.getElementById("toasts");
  let left = undo ? TOAST_S : PLAIN_TOAST_S,
    isKept = false,
    far = "";
  const node = document.createElement("div");
  node.className = `toast ${kind}`;
  const end = () => {
    clearInterval(timer);
    node.remove();
  };
  const keep = (yes) => () => {
    isKept = yes;
  };
  for (const [event, yes] of [
    ["mouseenter", true],
    ["mouseleave", false],
    ["focusin", true],
    ["focusout", false],
  ])
    node.addEventListener(event, keep(yes));
  const draw = () =>
    patch(node, [
      h("p", {}, text),
      far && h("span", { class: "far", "aria-hidden": "true" }, far),
      undo &&
        button(
          "Undo",
          () => {
            undo();
            end();
          },
          { key: "u" },
        ),
      h("span", { class: "left", "aria-hidden": "true" }, undo ? `${left} s` : ""),
      iconButton("close", "Close", end),
    ]);
  const timer = setInterval(() => {
    if (isKept || far) return;
    left -= 1;
    if (left <= 0) end();
    else draw();
  }, 1000);
  draw();
  while (box.children.length > 2) box.firstChild.remove();
  box.append(node);
  return {
    get isThere() {
      return node.isConnected;
    },
    progress: (said) => {
      far = said;
      draw();
    },
    say: (other) => {
      text = other;
      draw();
    },
  };
}

/** Where there is little room, the rail stands over the view: opens it, closes it, or does the other of both. */
export function openRail(isOpen) {
  const rail = document.getElementById("rail"),
    menu = document.querySelector(".menu-btn"),
    was = rail?.classList.contains("open");
  if (!rail || was === isOpen) return;
  menu?.setAttribute("aria-expanded", String(rail.classList.toggle("open", !was)));
  (was ? menu : rail.querySelector(".place"))?.focus();
}
