// The list of keys; each can be switched off.
import { html, useEffect, useState } from "./html.js";
import { isOff, KEY_NAMES, KEYS, switchKey, useKeys } from "./keys.js";
import { Dialog } from "./parts/dialog.js";

let show = () => {};
export const openHelp = () => show(true);

/** The dialog; `?` opens it. */
export function Help() {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    show = setOpen;
  }, []);
  useKeys({ "?": () => setOpen(true) });
  return open && html`<${KeyList} onClose=${() => setOpen(false)} />`;
}

function KeyList({ onClose }) {
  const [, redraw] = useState(0);
  const change = (key) => (event) => {
    switchKey(key, event.currentTarget.checked);
    redraw((turn) => turn + 1);
  };
  return html`<${Dialog} class="help" aria-labelledby="keys" onClose=${onClose}>
    <div class="top-line"><h2 class="title" id="keys">Keys</h2><button type="button" class="button"
      onClick=${onClose}>Close</button></div>
    <p class="small soft">Take the mark off a key and it does nothing.</p>
    <ul>${KEYS.map(
      ([key, word]) => html`<li key=${key}><label>
      <input type="checkbox" checked=${!isOff(key)} onChange=${change(key)} />
      <span class="keys">${key.split(/(?<=\S) (?=\S)/).map(
        (part) => html`<kbd key=${part}>
        ${KEY_NAMES[part] || part}</kbd> `,
      )}</span><span>${word}</span></label></li>`,
    )}</ul>
  </>`;
}
