// What opens above the page, and closes by Escape or a click beside it.
import { html, useLayoutEffect, useRef } from "../html.js";

/** A modal dialog; it is there from its first drawing to its last, and the focus goes back then.
 *
 * Escape ends it by its owner, at once. The element's own way tells of it in a later task: a key
 * pressed in between would find a dialog that is neither open nor gone.
 */
export function Dialog({ onClose, children, ...attributes }) {
  const dialog = useRef(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    dialog.current.showModal();
    return () => before?.focus?.();
  }, []);
  const press = (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    onClose();
  };
  return html`<dialog ref=${dialog} ...${attributes} onClose=${onClose} onKeyDown=${press}
    onClick=${(event) => event.target === dialog.current && onClose()}>${children}</dialog>`;
}
