// Which places there are: their address, name, key and view. The rail, the router, Go to and the keys read this.
import { alerts } from "./views/alerts.js";
import { attempts } from "./views/attempts.js";
import { dead } from "./views/dead.js";
import { errors } from "./views/errors.js";
import { hosts } from "./views/hosts.js";
import { items } from "./views/items.js";
import { job } from "./views/job.js";
import { newCrawl } from "./views/new.js";
import { overview } from "./views/overview.js";
import { page } from "./views/page.js";
import { proxies } from "./views/proxies.js";
import { schedules } from "./views/schedules.js";
import { settings } from "./views/settings.js";
import { workers } from "./views/workers.js";

/** Places of the fleet: [address, name, key, view]. */
export const FLEET = [
  ["/", "Overview", "o", overview],
  ["/alerts", "Alerts", "l", alerts],
  ["/workers", "Workers", "w", workers],
  ["/proxies", "Proxies", "x", proxies],
  ["/schedules", "Schedules", "c", schedules],
];
/** Places of a job: [end of the address, name, key, view]. */
export const OF_JOB = [
  ["", "Summary", "j", job],
  ["/hosts", "Hosts", "h", hosts],
  ["/errors", "Errors", "e", errors],
  ["/dead", "Dead letters", "d", dead],
  ["/items", "Items", "i", items],
  ["/attempts", "Attempts", "a", attempts],
  ["/settings", "Settings", "t", settings],
];
const OTHERS = [
  ["/page", "One page’s life", "u", page],
  ["/new", "Start a crawl", "n", newCrawl],
];

/** The view of an address and the job that it is about; null where there is none. */
export function findPlace(path) {
  const whole = [...FLEET, ...OTHERS].find(([address]) => address === path);
  if (whole) return { view: whole[3], job: null };
  const [, id, end] = /^\/jobs\/([^/]+)(\/[a-z]+)?$/.exec(path) ?? [];
  const ofJob = id && OF_JOB.find(([address]) => address === (end ?? ""));
  return ofJob ? { view: ofJob[3], job: decodeURIComponent(id) } : null;
}

export const jobHref = (id, end = "", query = {}) => {
  const set = Object.entries(query).filter(
    ([, value]) => value !== null && value !== undefined && value !== "",
  );
  return `/jobs/${encodeURIComponent(id)}${end}${set.length ? `?${new URLSearchParams(set)}` : ""}`;
};
