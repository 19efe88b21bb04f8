// Keys: a table of what they do, one listener, and a switch for each (WCAG 2.1.4).
import { useEffect, useRef } from "./html.js";

const STORE = "moorage.keys.off";
const handlers = new Map();
let prefix = "";
let prefixEnds = 0;

/** Every key, what it does, and where. `g n` is two keys, one after the other. */
export const KEYS = [
  ["/", "Find a pod, node, profile or command"],
  ["g o", "Overview"],
  ["g n", "Nodes"],
  ["g q", "Queue"],
  ["g p", "Profiles"],
  ["g r", "Recordings"],
  ["g c", "Compare"],
  ["j", "Next row"],
  ["k", "Row before"],
  ["Enter", "Open"],
  ["Escape", "Close, back"],
  ["[", "One marker back"],
  ["]", "One marker on"],
  [",", "One decision back"],
  [".", "One decision on"],
  [" ", "Play"],
  ["l", "Live"],
  ["1", "Map by CPU"],
  ["2", "Map by memory"],
  ["3", "Map by GPU"],
  ["4", "Map by pods"],
  ["5", "Map by fragmentation"],
  ["+", "Closer"],
  ["-", "Further"],
  ["t", "Map or table"],
  ["y", "Copy the link"],
  ["c", "Copy the command"],
  ["d", "Light or dark"],
  ["?", "These keys"],
];
export const KEY_NAMES = { " ": "Space", Escape: "Esc" };

function read() {
  try {
    return new Set(JSON.parse(localStorage.getItem(STORE)) || []);
  } catch {
    return new Set();
  }
}
const off = read();

export const isOff = (key) => off.has(key);

/** Switch a key on or off, and keep that. */
export function switchKey(key, on) {
  off[on ? "delete" : "add"](key);
  try {
    localStorage.setItem(STORE, JSON.stringify([...off]));
  } catch {
    // Without storage the switch holds until the page is left.
  }
}

/** What is shown answers these keys: {key: function}, the last that was shown first. A function
 * that returns false leaves the key to others. */
export function useKeys(table) {
  const latest = useRef(table);
  latest.current = table;
  useEffect(() => {
    const id = Symbol("keys");
    handlers.set(id, (key, event) => {
      const act = latest.current[key];
      return act ? act(event) !== false : false;
    });
    return () => handlers.delete(id);
  }, []);
}

const typing = (target) => target.closest?.("input, select, textarea, [contenteditable], dialog");
/** Keys that elements have meanings of their own for. */
const own = (target, key) =>
  ([" ", "Enter"].includes(key) &&
    target.closest?.("a, button, summary, [role=slider], tr[tabindex]")) ||
  false;

/** Begin to listen. */
export function listenForKeys() {
  document.addEventListener("keydown", (event) => {
    const palette = (event.metaKey || event.ctrlKey) && event.key === "k";
    if (!palette && (event.metaKey || event.ctrlKey || event.altKey || typing(event.target)))
      return;
    const key = palette ? "/" : named(event.key);
    if (!key || own(event.target, key) || event.defaultPrevented || off.has(key)) return;
    if (press(key, event)) event.preventDefault();
  });
}

function named(key) {
  if (key === "g" && !prefix) {
    prefix = "g";
    prefixEnds = performance.now() + 1500;
    return "";
  }
  const whole = prefix && performance.now() < prefixEnds ? `${prefix} ${key}` : key;
  prefix = "";
  return whole;
}

function press(key, event) {
  for (const handler of [...handlers.values()].reverse()) {
    if (handler(key, event)) return true;
  }
  return false;
}
