// A sheet: one row of a list, beside it. It repeats the name, answers, offers what can be done, then shows evidence.
import { h } from "./dom.js";
import { iconButton } from "./ui.js";

/** `neighbours` are the ids of the list in its order; `param` is the part of the address that names the open one. */
export function sheet(ctx, { title, param, neighbours, id, what }, ...kids) {
  const at = neighbours.indexOf(id),
    step = (by) => ctx.set({ [param]: neighbours[at + by] });
  return h(
    "div",
    { key: `sheet-${id}` },
    h(
      "header",
      { class: "side-head" },
      h("h2", {}, title),
      h(
        "div",
        { class: "tools" },
        iconButton("up", `Previous ${what} ([)`, () => step(-1), {
          "data-key": "[",
          disabled: at <= 0 || null,
        }),
        iconButton("down", `Next ${what} (])`, () => step(1), {
          "data-key": "]",
          disabled: at < 0 || at === neighbours.length - 1 || null,
        }),
        iconButton("close", "Close (Esc)", () => ctx.set({ [param]: null })),
      ),
    ),
    kids,
  );
}
