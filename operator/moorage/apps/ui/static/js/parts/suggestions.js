// What would help a pending pod: each was tried by deciding again.
import { html } from "../html.js";
import { Shape } from "../icons.js";
import { counted } from "../words.js";

const TITLES = {
  request: "Ask for less",
  toleration: "Tolerate the taint",
  requirement: "Ask for fewer labels",
  "move a pod": "Move one pod",
  "add nodes": "Add nodes",
  minCount: "Need fewer members",
};

/** @param {{changes: any[], pending: number}} props */
export function Suggestions({ changes }) {
  return html`<section class="card" aria-labelledby="help"><div class="title-block">
    <h2 class="title" id="help">What would help</h2>
    <p class="tiny soft">Each was tried by deciding again.</p></div>
    ${
      changes.length
        ? html`<ul class="suggestions">${changes.map(
            (one, i) => html`<${Suggestion}
      key=${i} suggestion=${one} />`,
          )}</ul>`
        : html`<p class="padded soft">No change of the five kinds helps, alone or in pairs.</p>`
    }
      </section>`;
}

function Suggestion({ suggestion }) {
  const { changes, fits, node } = suggestion;
  return html`<li><${Shape} state="ok" size=${11} /><div>
    <h3 class="strong">${changes.map((one) => TITLES[one.kind] || one.kind).join(", and ")}</h3>
    ${changes.map(
      (one) => html`<p key=${one.text}><code>${one.text.replaceAll("->", "→")}
      </code>${one.effect && html` <span class="soft">${one.effect.replaceAll("->", "→")}</span>`}
      </p>`,
    )}
    <p class="small soft">Fits ${counted(fits, "node")}${
      node
        ? html`; would go to <b>${node}
      </b>`
        : ""
    }.</p>
  </div></li>`;
}
