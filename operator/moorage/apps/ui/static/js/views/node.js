// One node: its room, and the pods on it.
import { html } from "../html.js";
import { Swatch } from "../icons.js";
import { flagWords } from "../map/shares.js";
import { FullBar } from "../parts/bars.js";
import { Chip, Head, Lead } from "../parts/lead.js";
import { profileIndex } from "../parts/profile_state.js";
import { VirtualRows } from "../parts/rows.js";
import { Shown } from "../parts/states.js";
import { href } from "../router.js";
import { Path, Shell } from "../shell.js";
import { useDocument } from "../source.js";
import { amount, count, counted, resourceName } from "../words.js";

export function Node(shared) {
  const { at, route, status } = shared;
  const [name] = route.parts;
  const entry = useDocument("node", { name, at });
  return html`<${Shell} view="nodes" ...${shared} title=${html`<${Path} before=${[
    html`<a
    href=${href("nodes", { node: name })}>Nodes</a>`,
  ]}>${name}<//>`}>
    <${Shown} entry=${entry} what="the node">${(node) => html`<${Content} node=${node}
      index=${profileIndex(status)} />`}<//><//>`;
}

function Content({ node, index }) {
  const words = flagWords(node.flags);
  return html`<${Lead} sentence=${node.answer}><p class="facts-line soft">
      <${Chip} state=${words.length ? "bad" : "ok"}>${words.join(", ") || "In use"}<//>
        <span>${node.zone}</span><span>${node.pool}</span>
      ${Object.entries(node.profiles).map(
        ([name, number]) => html`<span key=${name}
        class="with-swatch"><${Swatch} index=${index(name)} />${name} ${count(number)}</span>`,
      )}
        </p><//>
    <div class="with-side"><section><${Head} title=${counted(node.pods.length, "pod")}
      side="the largest first" />
      <${VirtualRows} label="Pods" rows=${node.pods.map((one) => ({ ...one, key: one.pod }))}
        columns=${[
          {
            key: "pod",
            title: "Pod",
            phone: "name",
            cell: (row) => html`<a class="name" data-row
          href=${href(`pods/${row.pod}`)}>${row.pod}</a>`,
          },
          {
            key: "profile",
            title: "Profile",
            phone: "under",
            cell: (row) => html`<span
          class="with-swatch"><${Swatch} index=${index(row.profile)} />${row.profile}</span>`,
          },
          { key: "priority", title: "Priority", number: true, cell: (row) => count(row.priority) },
          { key: "cpu", title: "CPU", number: true, cell: (row) => row.asks.cpu || "–" },
          {
            key: "memory",
            title: "Memory",
            number: true,
            phone: "end",
            cell: (row) => row.asks.memory || "–",
          },
        ]} /></section>
    <aside class="stack" aria-label="Room"><section class="card padded"><h2 class="title">Room</h2>
      <dl class="room">
      ${Object.entries(node.resources)
        .filter(([, one]) => one.allocatable)
        .map(
          ([name, one]) => html`<div
      key=${name}>
      <dt>${resourceName(name)}</dt><${FullBar} share=${one.requested / one.allocatable} />
        <dd class="number">${amount(name, one.requested)} / ${amount(name, one.allocatable)}</dd>
        </div>`,
        )}</dl></section>
      ${
        node.taints.length > 0 &&
        html`<section class="card padded"><h2 class="title">Taints</h2>
        ${node.taints.map((text) => html`<p key=${text}><code>${text}</code></p>`)}</section>`
      }
      <details class="card padded"><summary class="title">Labels</summary>
        ${Object.entries(node.labels).map(
          ([name, value]) => html`<p key=${name}
        class="label-line"><code>${name}=${value}</code></p>`,
        )}</details></aside></div>`;
}
