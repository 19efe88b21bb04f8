// Short words at the bottom left, for six seconds. Errors are not told here: they stay where they are.
import { html, useEffect, useState } from "./html.js";

const SHOWN_MS = 6000;
let show = () => {};

export const toast = (text) => show(text);

export function Toast() {
  const [said, setSaid] = useState(null);
  useEffect(() => {
    show = (text) => setSaid({ text });
  }, []);
  useEffect(() => {
    if (!said) return undefined;
    const timer = setTimeout(() => setSaid(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [said]);
  return html`<div class="toast" role="status">${said && html`<p>${said.text}</p>`}</div>`;
}
