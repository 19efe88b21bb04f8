// Light and dark. The address may say which, then the browser's storage, then the system.
import { useEffect, useState } from "./html.js";
import { current, go, withQuery } from "./router.js";

const root = document.documentElement;
const listeners = new Set();

export const theme = () => root.dataset.theme;

/** Change to the other theme, and keep that. */
export function toggleTheme() {
  const other = theme() === "dark" ? "light" : "dark";
  root.dataset.theme = other;
  try {
    localStorage.setItem("moorage.theme", other);
  } catch {
    // Storage may be switched off; the theme then holds until the page is left.
  }
  if (current().query.theme) go(withQuery({ theme: other }), { replace: true });
  for (const listener of listeners) listener(other);
}

/** The theme, and again when it changes: for what draws on canvas. */
export function useTheme() {
  const [name, setName] = useState(theme);
  useEffect(() => {
    listeners.add(setName);
    return () => listeners.delete(setName);
  }, []);
  return name;
}

/** The value of a colour token now. */
export const token = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
