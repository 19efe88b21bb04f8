// Revisions of a profile, two of them chosen, and what differs between them in effect.
import { html } from "../html.js";
import { Shape } from "../icons.js";
import { age, dayAndTime } from "../words.js";

/** The shape of a revision's state, and its words. */
export function stateOf(revision) {
  const { state, seconds } = revision;
  const time = seconds == null ? "" : ` for ${age(seconds)}`;
  if (state === "trial") return ["trial", `On trial since ${dayAndTime(revision.since)}`];
  if (state === "rolled back")
    return ["bad", `Rolled back${seconds == null ? "" : ` after ${age(seconds)}`}`];
  if (state.startsWith("active"))
    return ["ok", `${state[0].toUpperCase()}${state.slice(1)}${time}`];
  return ["past", seconds == null ? state : age(seconds)];
}

/** A list in which two can be chosen: `onChoose(revision)`. */
export function RevisionList({ revisions, a, b, onChoose }) {
  return html`<ol class="card revisions" aria-label="Revisions, the newest first">
    ${revisions.map(
      (one) => html`<li key=${`${one.revision} ${one.number}`}>
    <button type="button" data-row aria-pressed=${one.revision === a || one.revision === b}
      onClick=${() => onChoose(one.revision)}>
      <${RevisionLines} revision=${one}
        letter=${one.revision === a ? "A" : one.revision === b ? "B" : ""} /></button></li>`,
    )}
        </ol>`;
}

function RevisionLines({ revision, letter }) {
  const [shape, words] = stateOf(revision);
  return html`<${Shape} state=${shape} size=${14} /><span class="lines">
    <code class="strong">${revision.revision}</code>
    <span class=${`is-${shape === "past" ? "quiet" : shape} small`}>${words}</span>
    <span class="second">
      ${[dayAndTime(revision.since), revision.changedBy].filter(Boolean).join(" · ")}</span></span>
    ${letter && html`<span class="letter small soft">${letter}</span>`}`;
}

/** Settings that differ: A, B, and what says them. */
export function DiffRows({ difference }) {
  return html`<div class="card table"><table class="rows diff" aria-label="What differs in effect">
    <thead><tr><th scope="col" class="on-phone-name">In effect</th>
      <th scope="col" class="on-phone-under">A <code>${revisionOf(difference.a)}</code></th>
      <th scope="col" class="on-phone-end">B <code>${revisionOf(difference.b)}</code></th></tr>
      </thead>
    <tbody>${difference.differences.map(
      (one) => html`<tr key=${one.setting}>
      <th scope="row" class="on-phone-name"><span class="name">${one.setting}</span>
      <span class="second">${saidBy(one)}</span></th>
      <td class="on-phone-under">${one.a?.value ?? html`<span class="quiet">not set</span>`}</td>
        <td class="strong on-phone-end"><span class="arrow quiet" aria-hidden="true">→ </span>
        ${one.b?.value ?? html`<span class="quiet">not set</span>`}</td></tr>`,
    )}
      <tr class="quiet"><th scope="row" class="on-phone-name">${difference.same} more settings</th>
        <td class="on-phone-under">the same in both</td><td class="on-phone-end"></td></tr></tbody>
        </table></div>`;
}

const revisionOf = (side) => side.split("@")[1] || side;
const saidBy = ({ a, b }) => [...new Set([a?.saidBy, b?.saidBy].filter(Boolean))].join(", ");
