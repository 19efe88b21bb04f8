// The list of keys; each can be switched off.
import { html, useEffect, useRef, useState } from "./html.js";
import { isOff, KEY_NAMES, KEYS, switchKey, useKeys } from "./keys.js";

let show = () => {};
export const openHelp = () => show(true);

/** The dialog; `?` opens it. */
export function Help() {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    show = setOpen;
  }, []);
  useKeys({ "?": () => setOpen(true) });
  return open && html`<${Dialog} onClose=${() => setOpen(false)} />`;
}

function Dialog({ onClose }) {
  const dialog = useRef(null);
  const [, redraw] = useState(0);
  useEffect(() => dialog.current.showModal(), []);
  const change = (key) => (event) => {
    switchKey(key, event.currentTarget.checked);
    redraw((turn) => turn + 1);
  };
  return html`<dialog class="help" ref=${dialog} aria-labelledby="keys" onClose=${onClose}
    onClick=${(event) => event.target === dialog.current && onClose()}>
    <div class="top-line"><h2 class="title" id="keys">Keys</h2><button type="button" class="button"
      onClick=${() => dialog.current.close()}>Close</button></div>
    <p class="small soft">Take the mark off a key and it does nothing.</p>
    <ul>${KEYS.map(
      ([key, word]) => html`<li key=${key}><label>
      <input type="checkbox" checked=${!isOff(key)} onChange=${change(key)} />
      <span class="keys">${key.split(/(?<=\S) (?=\S)/).map(
        (part) => html`<kbd key=${part}>
        ${KEY_NAMES[part] || part}</kbd> `,
      )}</span><span>${word}</span></label></li>`,
    )}</ul>
  </dialog>`;
}
