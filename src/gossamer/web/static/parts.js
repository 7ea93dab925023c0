// What a view asks the server for, part by part: each may be late or fail alone, and says so alone.
import { ask, AskError } from "./api.js";

const QUIET_MS = 300; // an answer that comes sooner needs no "loading"
const LATE_MS = 5000;

/** One question of a view, and what is known of its answer. */
class Part {
  constructor(need, former) {
    Object.assign(this, need); // name, path, topic, every (seconds between two looks, where no topic tells it)
    this.data = former?.data; // of the former question, until this one is answered or has taken too long
    this.answers = former?.answers; // the path that was asked for the data
    this.isFormer = this.data !== undefined;
    this.at = null;
    this.error = null;
    this.askedAt = null;
    this.attempt = null;
  }
  get isLoading() {
    return this.data === undefined && !this.error;
  }
  get isLate() {
    return this.isLoading && Date.now() - this.askedAt > LATE_MS;
  }
  get isQuiet() {
    return this.isLoading && Date.now() - this.askedAt < QUIET_MS;
  }
}

/** All parts of what is shown. `changed` is called when one of them has something new. */
export class Parts {
  constructor({ changed, failed, isStreaming }) {
    this.changed = changed;
    this.isStreaming = isStreaming;
    this.told = new Map(); // topic -> the answer as the stream told it: what its changes refer to
    this.failed = failed;
    this.all = new Map();
    this.isHeld = false;
    setInterval(() => this.look(), 1000);
  }

  get(name) {
    return this.all.get(name);
  }
  /** Whether something that is shown has no answer yet. */
  get areWaiting() {
    return [...this.all.values()].some((part) => part.isLoading || part.isFormer);
  }
  get topics() {
    return [...new Set([...this.all.values()].map((part) => part.topic).filter(Boolean))];
  }

  /** From now on these are needed: parts with the same question are kept, others go. */
  want(needs) {
    const next = new Map();
    for (const need of needs.filter(Boolean)) {
      const before = this.all.get(need.name);
      if (before?.path === need.path) {
        next.set(need.name, Object.assign(before, need));
        continue;
      }
      before?.attempt?.abort();
      next.set(need.name, new Part(need, need.keep ? before : undefined));
    }
    for (const [name, part] of this.all) if (!next.has(name)) part.attempt?.abort();
    this.all = next;
    for (const topic of this.told.keys()) if (!this.topics.includes(topic)) this.told.delete(topic);
    for (const part of next.values()) if (part.askedAt === null) this.load(part);
  }

  async load(part) {
    part.attempt?.abort();
    const attempt = new AbortController();
    part.attempt = attempt;
    part.askedAt = Date.now();
    setTimeout(() => {
      if (part.attempt === attempt) this.dropFormer(part);
    }, QUIET_MS);
    setTimeout(() => part.attempt === attempt && this.changed(), LATE_MS + 50);
    try {
      const data = await ask(part.path, { signal: attempt.signal });
      this.put(part, data);
    } catch (error) {
      if (attempt.signal.aborted) return;
      part.error = error;
      if (part.isFormer) part.data = undefined;
      part.isFormer = false;
      this.failed(error, part);
    }
    if (part.attempt === attempt) part.attempt = null;
    this.changed();
  }

  dropFormer(part) {
    if (part.isFormer) part.data = undefined;
    part.isFormer = false;
    this.changed();
  }

  put(part, data) {
    part.data = data;
    part.answers = part.path;
    part.isFormer = false;
    part.error = null;
    part.at = data?.at ?? Date.now() / 1000;
  }

  /** What the stream told of a topic: `change` makes the new answer of the one that it told before. */
  tell(topic, change) {
    const answer = change(this.told.get(topic));
    if (!answer) return;
    this.told.set(topic, answer);
    if (this.isHeld) return;
    for (const part of this.all.values()) if (part.topic === topic) this.put(part, answer);
    this.changed();
  }
  /** A topic cannot be answered now. */
  fail(topic, { status, ...said }) {
    for (const part of this.all.values()) if (part.topic === topic) part.error = new AskError(said, status);
    this.changed();
  }

  again(name) {
    const part = this.all.get(name);
    if (part) {
      part.error = null;
      this.load(part);
    }
  }
  /** `anew`: what is being asked now does not count, since something was changed meanwhile. */
  everythingAgain({ anew = false } = {}) {
    if (!this.isHeld) for (const part of this.all.values()) if (anew || !part.attempt) this.load(part);
  }

  /** Parts that no topic tells are asked for again every few seconds, while somebody looks. */
  look() {
    if (this.isHeld || document.hidden) return;
    for (const part of this.all.values()) {
      const isTold = part.topic && !part.error && this.isStreaming();
      const waits = isTold ? 0 : part.error ? 15 : part.every;
      if (waits && !part.attempt && Date.now() - part.askedAt >= waits * 1000) this.load(part);
    }
  }
}
