// What a view shows while it waits, when there is nothing, and when something is wrong.
import { html, useEffect, useState } from "../html.js";
import { Command } from "./command.js";
import { Lead, Note } from "./lead.js";
import { clock } from "../words.js";

/** Rows in their final size; after two seconds the words for what is awaited. */
export function Loading({ rows = 6, what = "the server's answer" }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 2000);
    return () => clearTimeout(timer);
  }, []);
  return html`<div class="loading" aria-busy="true">
    <div class="sentence well"></div>
    <div class="card">${Array.from(
      { length: rows },
      (_, i) => html`<div key=${i} class="well row">
      </div>`,
    )}</div>
    <p class="quiet small" role="status">${late ? `Waiting for ${what}.` : " "}</p>
  </div>`;
}

/** Nothing there: a sentence, and the next step. */
export function Empty({ sentence, children, command }) {
  return html`<div class="empty"><${Lead} sentence=${sentence} under=${children} />
    ${command && html`<${Command} text=${command} />`}</div>`;
}

/** What could not be had, and why; it stays in place. `since`: of when that is what is shown. */
export function Failed({ error, since }) {
  const why = error.status === 403 ? "You have no right to see this. " : "";
  const old = since ? ` What is shown is from ${clock(since)}.` : "";
  return html`<${Note} severity=${error.status === 404 ? "warn" : "bad"}>${why}${error.message}${old}
    <//>`;
}

/**
 * A document's content when it is there, and what is to be shown else. What there was stays when a
 * later fetch fails.
 */
export function Shown({ entry, rows, what, children }) {
  if (entry.doc) {
    return html`${entry.error && html`<${Failed} error=${entry.error} since=${entry.doc.at} />`}
      ${children(entry.doc)}
      ${(entry.doc.leftOut || []).map(
        (text) => html`<p key=${text} class="left-out small quiet">
        ${text}</p>`,
      )}`;
  }
  return entry.error
    ? html`<${Failed} error=${entry.error} />`
    : html`<${Loading} rows=${rows}
    what=${what} />`;
}
