// The page itself: which place is shown, what it asks for, and when it is drawn.
import { forgetAnswers, onAnswer } from "./api.js";
import { addressOf, Context } from "./context.js";
import { openRail } from "./dialog.js";
import { patch } from "./dom.js";
import { drawFrame, drawAlone } from "./frame.js";
import { listenToKeys } from "./keys.js";
import { applyDelta, Live } from "./live.js";
import { Parts } from "./parts.js";
import { findPlace } from "./places.js";
import { lost, signIn } from "./views/access.js";

const LATEST_JOB = "gossamer.job";

class App {
  constructor(root) {
    this.root = root;
    this.me = null;
    this.isHeld = false;
    this.heldAt = null;
    this.isSignedOut = false;
    this.ahead_s = 0; // the server's clock against that of this machine
    this.parts = new Parts({
      changed: () => this.redraw(),
      failed: (error, part) => this.onFailed(error, part),
      isStreaming: () => this.live.isStreaming,
    });
    this.live = new Live({
      frame: (event, data) => this.onFrame(event, data),
      state: () => this.redraw(),
      ask: () => this.parts.everythingAgain(),
      signedOut: () => this.signedOut(),
    });
    onAnswer((isThere) => isThere && this.live.heard());
  }

  start() {
    window.addEventListener("popstate", () => this.route());
    document.addEventListener("click", (event) => this.onClick(event));
    listenToKeys(this);
    setInterval(() => this.redraw(), 1000);
    this.route();
  }

  now() {
    return this.isHeld ? this.heldAt : Date.now() / 1000 + this.ahead_s;
  }

  // -------------------------------------------------------------- places

  go(href, { replace = false } = {}) {
    const to = new URL(href, location.href);
    if (to.href === location.href) return;
    history[replace ? "replaceState" : "pushState"](null, "", to);
    this.route();
  }

  /** Links within the page do not load it anew. */
  onClick(event) {
    const link = event.target.closest?.("a[href]");
    if (
      !link ||
      event.defaultPrevented ||
      event.button ||
      event.ctrlKey ||
      event.metaKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    const to = new URL(link.href, location.href);
    if (
      link.target ||
      link.hasAttribute("download") ||
      to.origin !== location.origin ||
      to.pathname.startsWith("/api/")
    )
      return;
    event.preventDefault();
    if (to.hash && to.pathname === location.pathname) document.getElementById(to.hash.slice(1))?.focus();
    else this.go(to.href);
  }

  route() {
    const path = location.pathname.replace(/(.)\/$/, "$1"),
      query = Object.fromEntries(new URLSearchParams(location.search));
    const found =
      path === "/sign-in" ? { view: signIn, job: null } : (findPlace(path) ?? { view: lost, job: null });
    const isOther = this.ctx?.path !== path,
      former = this.ctx;
    this.ctx = isOther
      ? new Context(this, { path, query, job: found.job })
      : Object.assign(this.ctx, { query });
    this.view = found.view;
    openRail(false);
    this.wantParts();
    this.draw();
    if (isOther && former) {
      window.scrollTo(0, 0);
      document.getElementById("content")?.focus({ preventScroll: true });
    }
  }

  onFailed(error, part) {
    if (error.status === 401) this.signedOut();
    else if (part.name === "latest" && error.status === 404) {
      localStorage.removeItem(LATEST_JOB);
      this.wantParts();
    }
  }

  /** The job that was last looked at; one that is not there is none. */
  remember(job, error) {
    if (this.parts.get("job")?.data) localStorage.setItem(LATEST_JOB, job);
    else if (error?.status === 404 && localStorage.getItem(LATEST_JOB) === job) localStorage.removeItem(LATEST_JOB);
  }

  /** The job that the rail is about: that of the view, else the one that was last looked at, else the first there is. */
  get railJob() {
    return (
      this.ctx.job ??
      this.ctx.query.job ??
      (this.parts.get("latest")?.data && localStorage.getItem(LATEST_JOB)) ??
      this.parts.get("overview")?.data?.jobs?.[0]?.job ??
      null
    );
  }

  wantParts() {
    if (this.view === signIn) {
      this.parts.want([]);
      this.live.watch([]);
      return;
    }
    const job = this.ctx.job,
      latest = localStorage.getItem(LATEST_JOB);
    this.parts.want([
      { name: "me", path: "/me", every: 300 },
      {
        name: "overview",
        path: addressOf("/overview", {
          show: this.ctx.query.show,
          cursor: this.view.isOverview ? this.ctx.query.cursor : null,
        }),
        topic: "overview",
        every: 10,
        keep: true,
      },
      job && {
        name: "job",
        path: `/jobs/${encodeURIComponent(job)}`,
        topic: `job:${encodeURIComponent(job)}`,
        every: 5,
      },
      // Another folder's dashboard may have had this address: the rail names no job that is not there.
      !job && latest && { name: "latest", path: `/jobs/${encodeURIComponent(latest)}`, every: 0 },
      ...(this.view.needs?.(this.ctx) ?? []),
    ]);
    this.live.watch(this.parts.topics);
  }

  // -------------------------------------------------------------- what is alive

  onFrame(event, data) {
    if (data.at) this.ahead_s = data.at - Date.now() / 1000;
    if (event === "snapshot") this.parts.tell(data.topic, () => data.data);
    else if (event === "delta") this.parts.tell(data.topic, (former) => former && applyDelta(former, data));
    else if (event === "error") this.parts.fail(data.topic, data.error);
  }

  hold() {
    this.heldAt = this.now();
    this.isHeld = !this.isHeld;
    this.parts.isHeld = this.isHeld;
    if (!this.isHeld) this.parts.everythingAgain();
    this.redraw();
  }

  // -------------------------------------------------------------- who is there

  signedOut() {
    if (this.isSignedOut) return;
    this.isSignedOut = true;
    this.live.stop();
    this.redraw();
  }
  signedIn() {
    this.isSignedOut = false;
    forgetAnswers();
    if (location.pathname === "/sign-in") this.go("/", { replace: true });
    this.wantParts();
    this.parts.everythingAgain();
    this.live.tryNow();
    this.redraw();
  }

  // -------------------------------------------------------------- drawing

  /** Draws soon: however much changes at once, once. */
  redraw() {
    if (this.isDue) return;
    this.isDue = true;
    const draw = () => {
      this.isDue = false;
      this.draw();
    };
    if (document.hidden) setTimeout(draw, 250);
    else requestAnimationFrame(draw);
  }

  /** What needs somebody, for the title of the tab. */
  get needy() {
    const needs = this.parts.get("overview")?.data?.rail.needs;
    return needs ? `${needs} ${needs === 1 ? "needs" : "need"} you` : "";
  }

  draw() {
    const ctx = this.ctx;
    this.me = this.parts.get("me")?.data ?? this.me;
    const jobError = ctx.job && this.parts.get("job")?.error;
    if (ctx.job) this.remember(ctx.job, jobError);
    const view = this.isSignedOut ? signIn : jobError?.status === 404 ? lost : this.view;
    document.title = [this.needy, view.title(ctx), ctx.job, "gossamer"].filter(Boolean).join(" · ");
    if (view.isAlone) {
      patch(this.root, drawAlone(this, view));
      return;
    }
    const had = document.querySelector(".side"),
      hadId = had?.dataset.id;
    patch(this.root, drawFrame(this, view));
    const side = document.querySelector(".side");
    if (side && !had && this.isDrawn) side.focus({ preventScroll: true });
    else if (had && !side && (document.activeElement === document.body || !document.activeElement))
      this.backToRow(hadId);
    this.isDrawn = true;
  }

  /** A sheet that was closed gives the focus back to its row. */
  backToRow(id) {
    document.querySelector(`tr[data-id="${CSS.escape(id ?? "")}"]`)?.focus({ preventScroll: true });
  }
}

const app = new App(document.getElementById("app"));
app.start();
