// Documents from the server, and when they are fetched anew. The page only reads: everything is GET.
import { useEffect, useRef, useState } from "./html.js";
import { BASE } from "./router.js";

/** How long a failed fetch, or a broken stream, waits until the next try, in milliseconds. */
export const RETRY_MS = 5000;

/** @typedef {{doc: any, error: null|{status: number, message: string}, loading: boolean}} Entry */

/** @type {Map<string, {name: string, entry: Entry, users: Set<Function>, stale: boolean, busy: boolean, retry: number}>} */
const kept = new Map();
const feedUsers = new Set();
let feed = { state: "starting", since: null };

/** The address of a document; values that are not set are left out. */
export function address(name, params = {}) {
  const set = Object.entries(params).filter(([, value]) => value != null && value !== "");
  const search = new URLSearchParams(set).toString();
  return `${BASE}api/${name}${search ? `?${search}` : ""}`;
}

/**
 * A document: what there was is shown while it is fetched anew, so nothing flickers.
 * `name` null fetches nothing. @returns {Entry}
 */
export function useDocument(name, params = {}) {
  const url = name && address(name, params);
  const [, redraw] = useState(0);
  useEffect(() => {
    if (!url) return undefined;
    const slot = slotOf(url, name);
    const user = () => redraw((turn) => turn + 1);
    slot.users.add(user);
    if (slot.stale) load(url, slot);
    return () => {
      slot.users.delete(user);
      forgetOld();
    };
  }, [url]);
  const entry = (url && kept.get(url)?.entry) || { doc: null, error: null, loading: Boolean(url) };
  return useEarlier(entry, url && url.replace(/([?&])at=[^&]*&?/, "$1"));
}

/** Of another moment the document that was shown stays until the new one is there. */
function useEarlier(entry, subject) {
  const shown = useRef({ subject: null, doc: null });
  if (entry.doc || shown.current.subject !== subject) shown.current = { subject, doc: entry.doc };
  return entry.doc || entry.error ? entry : { ...entry, doc: shown.current.doc };
}

function slotOf(url, name) {
  if (!kept.has(url)) {
    const entry = { doc: null, error: null, loading: true };
    kept.set(url, { name, entry, users: new Set(), stale: true, busy: false, retry: 0 });
  }
  return kept.get(url);
}

async function load(url, slot) {
  if (slot.busy) return;
  slot.busy = true;
  slot.stale = false;
  clearTimeout(slot.retry);
  try {
    slot.entry = { doc: await fetched(url), error: null, loading: false };
  } catch (error) {
    const message = error instanceof TypeError ? "The server does not answer." : error.message;
    slot.entry = { ...slot.entry, error: { status: error.status || 0, message }, loading: false };
    slot.stale = true;
    if (!error.status || error.status >= 500)
      slot.retry = setTimeout(() => slot.users.size && load(url, slot), RETRY_MS);
  }
  slot.busy = false;
  slot.users.forEach((user) => user());
  if (slot.stale && !slot.entry.error && slot.users.size) load(url, slot);
}

async function fetched(url) {
  const response = await fetch(url, { headers: { Accept: "application/json" } });
  if (response.ok) return response.json();
  const body = await response.json().catch(() => ({}));
  const message = body.error || `The server says ${response.status} ${response.statusText}.`;
  throw Object.assign(new Error(message), { status: response.status });
}

/** Documents that nobody shows are kept for a way back, twenty of them. */
function forgetOld() {
  for (const [url, slot] of kept) {
    if (kept.size <= 20) return;
    if (!slot.users.size) kept.delete(url);
  }
}

/** Fetch documents of these names anew where they are shown; the others when they are next shown. */
export function changed(names) {
  for (const [url, slot] of kept) {
    if (!names.includes(slot.name) || url.includes("at=")) continue;
    slot.stale = true;
    if (slot.users.size) load(url, slot);
  }
}

/** Listen for changes; the browser connects again by itself after a break. */
export function follow() {
  const events = new EventSource(`${BASE}events`);
  events.addEventListener("open", () => setFeed("live"));
  events.addEventListener("changed", (event) => {
    setFeed("live");
    const said = JSON.parse(event.data);
    changed(Array.isArray(said) ? said : said.documents);
  });
  events.addEventListener("error", () => {
    setFeed("silent");
    if (events.readyState === EventSource.CLOSED) setTimeout(follow, RETRY_MS);
  });
}

function setFeed(state) {
  if (feed.state === state) return;
  if (feed.state === "silent") changed([...kept.values()].map((slot) => slot.name));
  feed = { state, since: new Date() };
  feedUsers.forEach((user) => user(feed));
}

/** The stream's state: starting, live or silent, and since when. */
export function useFeed() {
  const [now, setNow] = useState(feed);
  useEffect(() => {
    feedUsers.add(setNow);
    setNow(feed);
    return () => feedUsers.delete(setNow);
  }, []);
  return now;
}
