// Documents from the server, and when they are fetched anew. The page only reads: everything is GET.
import { useEffect, useRef, useState } from "./html.js";
import { BASE } from "./router.js";

/** How long a failed fetch, or a broken stream, waits until the next try, in milliseconds. */
export const RETRY_MS = 5000;
/** How long a stream may be away before the page says so: the server ends each after a while. */
const SILENT_MS = 3000;

/** Too many ask at once: the status of an answer that says when to come back. */
const BUSY = 429;

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
  const retry = await fetchInto(slot, url);
  slot.busy = false;
  slot.users.forEach((user) => user());
  const again = () => slot.users.size && load(url, slot);
  if (retry) slot.retry = setTimeout(again, retry);
  else if (slot.stale && !slot.entry.error) again();
}

/** Fetch; milliseconds until it is worth another try, 0 where it is not. */
async function fetchInto(slot, url) {
  try {
    slot.entry = { doc: await fetched(url), error: null, loading: false };
    return 0;
  } catch (error) {
    slot.stale = true;
    if (error.status === BUSY) return error.retry;
    const message = error instanceof TypeError ? "The server does not answer." : error.message;
    slot.entry = { ...slot.entry, error: { status: error.status || 0, message }, loading: false };
    return !error.status || error.status >= 500 ? RETRY_MS : 0;
  }
}

async function fetched(url) {
  const response = await fetch(url, { headers: { Accept: "application/json" } });
  if (response.ok) return response.json();
  const body = await response.json().catch(() => ({}));
  const message = body.error || `The server says ${response.status} ${response.statusText}.`;
  const retry = Number(response.headers.get("Retry-After")) * 1000 || RETRY_MS;
  throw Object.assign(new Error(message), { status: response.status, retry });
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

/** Listen for changes, and go on listening. */
export const follow = () => listen(unfinished);

/**
 * The browser connects again by itself, and says up to which event it knows all: then nothing is
 * missed. Where it cannot say so, `missed` names what is to be fetched anew on opening.
 */
function listen(missed) {
  const events = new EventSource(`${BASE}events`);
  let silence = 0;
  events.addEventListener("open", () => {
    clearTimeout(silence);
    silence = 0;
    changed(missed());
    missed = everything;
    setFeed("live");
  });
  events.addEventListener("changed", (event) => {
    if (event.lastEventId) missed = nothing;
    changed(JSON.parse(event.data).documents);
  });
  events.addEventListener("error", () => {
    const since = new Date();
    silence ||= setTimeout(() => setFeed("silent", since), SILENT_MS);
    if (events.readyState === EventSource.CLOSED) setTimeout(() => listen(everything), RETRY_MS);
  });
}

const nothing = () => [];
const everything = () => [...kept.values()].map((slot) => slot.name);
/** Between their fetching and the first opening their last change may have come. */
const unfinished = () =>
  [...kept.values()].filter((slot) => slot.entry.doc?.progress < 1).map((slot) => slot.name);

function setFeed(state, since = new Date()) {
  if (feed.state === state) return;
  feed = { state, since };
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
