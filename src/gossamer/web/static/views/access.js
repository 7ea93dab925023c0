// Signing in, and addresses that lead nowhere.
import { ask, tell } from "../api.js";
import { h } from "../dom.js";
import { cut } from "../format.js";
import { openGoTo } from "../goto.js";
import { brandMark } from "../marks.js";
import { blank, button, field, linkButton } from "../ui.js";

const state = { error: "", isBusy: false };

const NOT_KEPT =
  "The token is right, but the browser did not keep the session: over plain http it does so on this machine at most. Open the dashboard by https, or by ssh -L at http://127.0.0.1.";

/** Whether the browser sends the session's cookie back: one that is for https alone it drops over http. */
async function isKept() {
  try {
    await ask("/me");
    return true;
  } catch (error) {
    if (error.status === 401) return false;
    throw error;
  }
}

async function enter(ctx, form) {
  const token = form.elements.token.value.trim();
  if (!token) {
    state.error = "Paste a token here.";
    ctx.redraw();
    return;
  }
  state.isBusy = true;
  ctx.redraw();
  try {
    await tell("/session", { token });
    state.error = (await isKept()) ? "" : NOT_KEPT;
    if (!state.error) {
      form.reset();
      ctx.app.signedIn();
    }
  } catch (error) {
    state.error =
      error.status === 401
        ? "This token is not known here. After five wrong ones an address waits a minute."
        : error.message;
  }
  state.isBusy = false;
  ctx.redraw();
}

export const signIn = {
  isAlone: true,
  title: () => "Sign in",
  draw: (ctx) =>
    h(
      "div",
      {},
      h("span", { class: "brand" }, brandMark(), "gossamer"),
      h("h1", {}, "Sign in with a token"),
      h(
        "form",
        {
          class: "sign",
          onsubmit: (event) => {
            event.preventDefault();
            enter(ctx, event.target);
          },
        },
        // Password managers ask for a name beside the secret.
        h("input", {
          type: "text",
          name: "username",
          value: "token",
          autocomplete: "username",
          hidden: true,
          "aria-hidden": "true",
          tabindex: "-1",
        }),
        field("Token", h("input", { type: "password", name: "token", autocomplete: "current-password" }), {
          error: state.error,
          hint: "What gossamer token create printed.",
        }),
        h("button", { type: "submit", class: "btn main", disabled: state.isBusy || null }, "Sign in"),
      ),
      h(
        "details",
        {},
        h("summary", {}, "I have no token"),
        h("p", { class: "sub" }, "On the machine that serves this page:"),
        h("pre", { class: "code" }, "gossamer token create NAME --role operate"),
        h("p", { class: "sub" }, "read looks, operate steers crawls too, admin reads the audit log too."),
      ),
    ),
};

export const lost = {
  title: () => "Not found",
  draw: (ctx) =>
    blank({
      heading: "h1",
      title: ctx.job ? `There is no job ${cut(ctx.job, 60)}.` : "There is no such page.",
      text: [
        h("code", {}, cut(ctx.path, 120)),
        " leads nowhere. Jobs keep their addresses for as long as they are known; a job of another store has another dashboard.",
      ],
      ways: [
        linkButton("/", "Overview", { kind: "main" }),
        button("Find a job, host or URL", () => openGoTo(ctx.app), { key: "/" }),
      ],
    }),
};
