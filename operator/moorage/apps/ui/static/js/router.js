// The address holds what is shown: view, object, filter, moment and theme. Nothing else does.
import { useEffect, useState } from "./html.js";

/** Where the page is served: "/ui/", from where this module is. */
export const BASE = new URL("../../", import.meta.url).pathname;

/** What every link of the page carries on. */
const KEPT = ["at", "theme"];
const listeners = new Set();

/**
 * @typedef {{view: string, parts: string[], query: Record<string, string>}} Route
 * `view` is the first part of the path ("overview" for none), `parts` are the others, decoded.
 */

/** @returns {Route} */
export function parse(address) {
  const url = new URL(address, "http://page");
  const inside = url.pathname.startsWith(BASE) ? url.pathname.slice(BASE.length) : "";
  const [view = "", ...parts] = inside.split("/").filter(Boolean).map(decoded);
  return { view: view || "overview", parts, query: Object.fromEntries(url.searchParams) };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const current = () => parse(location.href);

/** The address of a view; `at` and `theme` are those of now unless `query` says otherwise. */
export function href(path, query = {}) {
  const now = current().query;
  const kept = Object.fromEntries(KEPT.filter((key) => now[key]).map((key) => [key, now[key]]));
  const all = Object.entries({ ...kept, ...query }).filter(
    ([, value]) => value != null && value !== "",
  );
  const search = new URLSearchParams(all).toString().replaceAll("%3A", ":");
  const where = path.split("/").map(encodeURIComponent).join("/");
  return `${BASE}${where}${search ? `?${search}` : ""}`;
}

/** The address of the view that is shown, with other values in its query; "" takes one out. */
export function withQuery(changes) {
  const { view, parts, query } = current();
  return href([view === "overview" ? "" : view, ...parts].filter(Boolean).join("/"), {
    ...query,
    ...changes,
  });
}

/** Go there. `replace`: without a step that Back returns to. */
export function go(address, { replace = false } = {}) {
  if (address === location.pathname + location.search) return;
  const newView = new URL(address, location.href).pathname !== location.pathname;
  history[replace ? "replaceState" : "pushState"](null, "", address);
  if (newView) scrollTo(0, 0);
  for (const listener of listeners) listener();
}

/** Links inside the page change the address without loading; all others do what links do. */
export function followLinks() {
  addEventListener("popstate", () => listeners.forEach((listener) => listener()));
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    const plain =
      event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!link || !plain || event.defaultPrevented || link.target || link.hash) return;
    const url = new URL(link.href);
    if (url.origin !== location.origin || !url.pathname.startsWith(BASE)) return;
    event.preventDefault();
    go(url.pathname + url.search);
  });
}

/** The route, and again whenever it changes. @returns {Route} */
export function useRoute() {
  const [route, setRoute] = useState(current);
  useEffect(() => {
    const listener = () => setRoute(current());
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, []);
  return route;
}
