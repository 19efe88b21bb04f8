// A command to copy: the page itself changes nothing.
import { html } from "../html.js";
import { Icon } from "../icons.js";
import { useKeys } from "../keys.js";
import { toast } from "../toast.js";

/** Put text on the clipboard, and say so. */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    toast(`${what} is copied.`);
  } catch {
    toast(`The browser keeps the clipboard shut. ${what}: ${text}`);
  }
}

/** `c` copies the first one on the page. */
export function Command({ text }) {
  useKeys({ c: () => copy(text, "The command") });
  return html`<div class="command"><code>${text}</code>
    <button type="button" aria-label=${`Copy: ${text}`} onClick=${() => copy(text, "The command")}>
      <${Icon} name="copy" /></button></div>`;
}
