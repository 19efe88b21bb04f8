// Two worlds: A as it was, B with the same arrivals under another revision.
import { html } from "../html.js";
import { NodeMap } from "../map/map.js";
import { LinkChoice } from "../parts/choices.js";
import { Head, Lead, Note } from "../parts/lead.js";
import { Intervals } from "../parts/intervals.js";
import { Windows } from "../parts/windows.js";
import { Empty, Loading, Shown } from "../parts/states.js";
import { href } from "../router.js";
import { Path, Shell } from "../shell.js";
import { useDocument } from "../source.js";
import { age, count, percent } from "../words.js";

export function Compare(shared) {
  const { route, at, timeline, has } = shared;
  const worlds = timeline?.worlds || [];
  const b = route.query.b || worlds[0];
  const entry = useDocument(b && has("compare") ? "compare" : null, { b });
  const nodesA = useDocument(b && has("nodes") ? "nodes" : null, { at }).doc;
  const nodesB = useDocument(b && has("nodes") && entry.doc?.progress === 1 ? "nodes" : null, {
    at,
    b,
  }).doc;
  const choice =
    worlds.length > 1 &&
    html`<${LinkChoice} label="World B" value=${b}
    options=${worlds.map((one) => [one, one, href("compare", { b: one })])} />`;
  return html`<${Shell} view="compare" wide ...${shared} title=${
    b
      ? html`<${Path}
    before=${["Compare"]}>under ${b}<//>`
      : "Compare"
  }>
    ${choice && html`<div class="tools">${choice}</div>`}
    ${
      b
        ? html`<${Shown} entry=${entry} what="world B, which is decided anew">
      ${(compare) => html`<${Content} compare=${compare} nodesA=${nodesA} nodesB=${nodesB} />`}<//>`
        : timeline === null
          ? html`<${Loading} what="the recording" />`
          : html`<${Empty} sentence="Nothing to compare."
          command="moorage simulate FILE --profile NAME=candidate.yaml">A recording and a second revision are needed. From the command line any candidate will do:<//>`
    }
          <//>`;
}

function Content({ compare, nodesA, nodesB }) {
  const under = `The same ${count(compare.arrivals)} arrivals and durations on the same nodes, over ${age(compare.seconds)}.`;
  return html`<${Lead} sentence=${compare.answer} under=${compare.progress < 1 ? "" : under} />
    ${
      compare.progress < 1 &&
      html`<progress class="progress" max="1" value=${compare.progress}
      aria-label="World B is being decided">${percent(compare.progress, 0)}</progress>`
    }
    <div class="columns worlds"><${World} letter="A" name=${compare.a} nodes=${nodesA} />
      <${World} letter="B" name=${compare.b} nodes=${nodesB} /></div>
    <div class="with-side below">
      <div class="stack">${
        compare.measures.length > 0 &&
        html`<${Intervals}
      measures=${compare.measures} title=${`Over ${age(compare.seconds)}`} />`
      }
      <${Windows} windows=${compare.windows} seconds=${compare.windowSeconds} /></div>
    <div class="stack"><${Note} severity="warn"><b>What this replay cannot know</b>
      <br />
      ${compare.cannotKnow.replace(/^Cannot know: /, "").replace(/^./, (letter) => letter.toUpperCase())}
      <//>
      <${Elsewhere} compare=${compare} /></div></div>`;
}

function World({ letter, name, nodes }) {
  if (!nodes) return null;
  const empty = nodes.pods.filter((number) => number === 0).length;
  return html`<section><div class="head"><h2><b>${letter}</b> <span class="soft">${name}</span>
    </h2><span class="side">${count(empty)} empty</span></div>
    <${NodeMap} nodes=${nodes} by="cpu" group="zone" bare label=${`Nodes of world ${letter}`} />
      </section>`;
}

function Elsewhere({ compare }) {
  const share = compare.placedInBoth ? percent(compare.elsewhere / compare.placedInBoth, 0) : "–";
  return html`<section><${Head} title="Decided differently" side=${share} /><div class="card">
    <dl class="facts">
    <div><dt>to another node</dt><dd class="number"><b>${count(compare.elsewhere)}</b></dd></div>
    <div><dt>without a node at the end of A</dt><dd class="number"><b>${count(compare.waitingA)}
      </b></dd></div>
    <div><dt>without a node at the end of B</dt><dd class="number"><b>${count(compare.waitingB)}
      </b></dd></div></dl></div>
    ${
      compare.onlyB.length > 0 &&
      html`<${Head} title="No node only in B"
      side=${count(compare.onlyB.length)} />
      <ul class="card padded">${compare.onlyB.slice(0, 20).map(
        (one) => html`<li key=${one.pod}>
      <a class="link" href=${href(`pods/${one.pod}`)}>${one.pod}</a> <span class="soft small">
      ${one.reason || (one.reasons || []).join("; ")}</span></li>`,
      )}</ul>`
    }
    ${compare.notes.map((text) => html`<p key=${text} class="small quiet hints">${text}</p>`)}
      </section>`;
}
