// Every component with its states, for whoever changes one.
import { html, useState } from "../html.js";
import { SHAPES, Shape, Swatch } from "../icons.js";
import { CountedBar, DepthBar, DepthLegend, FullBar, TrialBar } from "../parts/bars.js";
import { Choice } from "../parts/choices.js";
import { Command } from "../parts/command.js";
import { Intervals } from "../parts/intervals.js";
import { Chip, Head, Lead, Note, Strip } from "../parts/lead.js";
import { RefusalMatrix, RefusalSums, ScoreMatrix } from "../parts/matrix.js";
import { DiffRows, RevisionList } from "../parts/revisions.js";
import { Rows } from "../parts/rows.js";
import { Empty, Failed, Loading } from "../parts/states.js";
import { Suggestions } from "../parts/suggestions.js";
import { Windows } from "../parts/windows.js";
import { Shell } from "../shell.js";
import { toast } from "../toast.js";
import * as sample from "./parts_samples.js";

const Part = ({ name, children }) => html`<section class="part"><${Head} title=${name} />
  <div class="stack">${children}</div></section>`;

export function Parts(shared) {
  const [choice, choose] = useState("cpu");
  const [pair, choosePair] = useState(["9d02aa71", "3f9c1b2a"]);
  return html`<${Shell} view="parts" title="Parts" ...${shared}>
    <${Lead} sentence="Every component, with its states." under="What stands below the sentence." />
    <${Part} name="Notes">${["bad", "warn", "trial"].map(
      (one) => html`<${Note} key=${one}
      severity=${one} link="#main" linkText="See it"><b>batch</b> needs a look.<//>`,
    )}<//>
    <${Part} name="Chips and shapes">
      <p class="facts-line">${Object.keys(SHAPES).map(
        (one) => html`<${Chip} key=${one}
      state=${one}>${one}<//>`,
      )}</p>
      <p class="facts-line">${[0, 1, 2, 3, 4, 5].map(
        (i) => html`<span key=${i}
        class="with-swatch"><${Swatch} index=${i} />profile ${i}</span>`,
      )}</p><//>
    <${Part} name="Strip"><${Strip} figures=${sample.FIGURES} /><//>
    <${Part} name="Choice"><${Choice} label="Colour by"
      options=${[
        ["cpu", "CPU"],
        ["memory", "Memory"],
        ["gpu", "GPU"],
      ]} value=${choice}
      onChoose=${choose} /><//>
    <${Part} name="Bars"><div><${DepthBar} depth=${sample.DEPTH} /></div><div>
      <${DepthBar} depth=${sample.NO_DEPTH} /></div><${DepthLegend} depth=${sample.DEPTH}
      side="one order" />
      <ul><${CountedBar} number=${44} most=${136} queue="active" text="are next in line"
        under="41 of them in batch" /></ul>
      ${[0, 0.4, 1].map((share) => html`<${FullBar} key=${share} share=${share} />`)}
        <${TrialBar} same=${287} other=${25} toGo=${90} /><//>
    <${Part} name="Rows"><${Rows} label="Rows" rows=${sample.ROWS} columns=${sample.COLUMNS} /><//>
    <${Part} name="Refusals"><div class="card"><${RefusalMatrix} ...${sample.REFUSALS} /></div>
      <div class="card"><${RefusalSums} groups=${sample.REFUSALS.groups} /></div><//>
    <${Part} name="Scores"><div class="card"><${ScoreMatrix} ...${sample.SCORES} /></div><//>
    <${Part} name="Suggestions"><div class="columns"><${Suggestions} changes=${sample.CHANGES} />
      <div class="card padded">${html`<p
      class="soft">No change of the five kinds helps, alone or in pairs.</p>`}</div></div><//>
    <${Part} name="Revisions"><div class="columns"><${RevisionList} revisions=${sample.REVISIONS}
      a=${pair[0]} b=${pair[1]} onChoose=${(one) => choosePair([pair[1], one])} />
      <${DiffRows} difference=${sample.DIFFERENCE} /></div><//>
    <${Part} name="Intervals and windows"><${Intervals} measures=${sample.MEASURES}
      title="Over 6 h" /><${Windows} windows=${sample.WINDOWS} seconds=${900} /><//>
    <${Part} name="Command and toast"><${Command} text="moorage rollback binpack --to c7715e0d" />
      <button type="button" class="button"
      onClick=${() => toast("The link is copied.")}>Show a toast</button><//>
    <${Part} name="Empty"><${Empty} sentence="Nothing waits."
      command="moorage queue">The last pod was placed 0.4 s ago.<//><//>
    <${Part} name="Errors">
      <${Failed} error=${{ status: 403, message: "get nodes is not allowed." }} />
      <${Failed} error=${{ status: 404, message: "There is no pod ml/gone." }} /><//>
    <${Part} name="Loading"><${Loading} rows=${3} /><//>
  <//>`;
}
