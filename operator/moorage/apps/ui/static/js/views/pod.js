// One pod: why it waits and what would help, or why it went where it went.
import { html } from "../html.js";
import { Shape, Swatch } from "../icons.js";
import { Command } from "../parts/command.js";
import { Group } from "../parts/group.js";
import { Chip, Head, Lead } from "../parts/lead.js";
import { RefusalMatrix, RefusalSums, ScoreMatrix, ScoreSums } from "../parts/matrix.js";
import { profileIndex } from "../parts/profile_state.js";
import { usePhone } from "../parts/rows.js";
import { Shown } from "../parts/states.js";
import { Suggestions } from "../parts/suggestions.js";
import { href } from "../router.js";
import { Path, Shell } from "../shell.js";
import { useDocument } from "../source.js";
import { age, clock, count, counted, moment } from "../words.js";

export function Pod(shared) {
  const { at, route, status } = shared;
  const [namespace, name] = route.parts;
  const { profile } = route.query;
  const entry = useDocument("pod", { name: `${namespace}/${name}`, at, profile });
  const bound = entry.doc?.verdict === "Bound";
  const before = bound
    ? ["Pods", namespace]
    : [
        html`<a
    href=${href("queue")}>Queue</a>`,
        namespace,
      ];
  return html`<${Shell} view=${bound ? "pods" : "queue"} ...${shared} title=${html`<${Path}
    before=${before}>${name}<//>`}>
    <${Shown} entry=${entry} rows=${8} what="the pod, decided again">${(pod) => html`<${Content}
      pod=${pod} index=${profileIndex(status)} />`}<//><//>`;
}

const CHIPS = {
  Bound: ["ok", "Bound"],
  Pending: ["warn", "Pending"],
  Gated: ["quiet", "Gated"],
  WouldBePlaced: ["ok", "Would be placed"],
  Error: ["bad", "Error"],
  NoProfile: ["bad", "No profile"],
  Suspended: ["quiet", "Suspended"],
  ProfileWaiting: ["warn", "Profile waits"],
  NotResolved: ["warn", "Not explained"],
  BeingDeleted: ["quiet", "Being deleted"],
};

function Content({ pod, index }) {
  const [state, word] = CHIPS[pod.verdict] || ["quiet", pod.verdict];
  const since =
    pod.verdict === "Bound" || !pod.created
      ? ""
      : ` ${age((moment(pod.at) - moment(pod.created)) / 1000)}`;
  return html`<${Lead} sentence=${pod.answer}><p class="facts-line soft">
      <${Chip} state=${state}>${word}${since}<//>
      <span class="with-swatch"><${Swatch} index=${index(pod.schedulerName)} />
        ${pod.schedulerName} <code>${pod.revision}</code></span>
      ${pod.asks && html`<span>Asks for <${Asks} asks=${pod.asks} /></span>`}
      ${pod.priority != null && html`<span>Priority ${count(pod.priority)}</span>`}
      ${pod.owner && html`<span>${pod.owner}</span>`}</p><//>
    ${pod.scores?.length ? html`<${Bound} pod=${pod} />` : html`<${Waiting} pod=${pod} />`}
    <p class="source small quiet">From ${pod.source}.</p>`;
}

function Asks({ asks }) {
  const parts = Object.entries(asks).filter(([name]) => name !== "pods");
  return parts.map(([name, amount], i) => html`${i > 0 && ", "}<b>${amount}</b> ${name}`);
}

function Waiting({ pod }) {
  const phone = usePhone();
  const groups = ordered(pod);
  if (!pod.refusals?.length && !pod.wait && !pod.group) return null;
  const matrix =
    groups.length > 0 &&
    html`<section class="card"><div class="title-block">
    <h2 class="title">Nodes and plugins</h2>
      ${
        !phone &&
        html`<p class="tiny soft"><span class="dot" aria-hidden="true">
        </span> passed; a group ends at its first refusal</p>`
      }</div>
      ${
        phone
          ? html`<${RefusalSums} groups=${groups} />`
          : html`<${RefusalMatrix}
        plugins=${named(pod)} groups=${groups} nodes=${pod.nodes} zones=${pod.zones || {}} />`
      }
        </section>`;
  return html`<div class=${groups.length ? "with-side side-first" : "stack"}>
    <div class="stack">${matrix}${pod.group && html`<${Group} pod=${pod} />`}
      <${Waits} pod=${pod} /></div>
    ${
      groups.length > 0 &&
      html`<div class="stack"><${Suggestions} changes=${pod.changes || []} />
      <${Command} text=${`moorage explain pod ${pod.pod}`} /></div>`
    }</div>`;
}

/** Groups in the order in which plugins are asked, those that may change before those that never will. */
function ordered(pod) {
  const place = (group) => (pod.plugins || []).indexOf(group.plugin.split(" ")[0]);
  return [...(pod.refusals || [])].sort((a, b) => place(a) - place(b));
}

/** Columns: what refused, and between them a few that all passed. */
function named(pod) {
  const refusing = new Set(pod.refusals.flatMap((group) => group.plugin.split(" ")));
  const shown = (pod.plugins || []).filter(
    (name) =>
      refusing.has(name) ||
      ["PodTopologySpread", "InterPodAffinity", "VolumeBinding"].includes(name),
  );
  return shown.length ? shown : [...refusing];
}

const PLACES = {
  active: "Next in line",
  backoff: "Waits out a backoff",
  unschedulable: "Unschedulable",
  gated: "Gated",
};

function Waits({ pod }) {
  const { wait, preemption, wakesOn = [] } = pod;
  if (!wait && !preemption?.message) return null;
  const wakes = [
    ...new Set(wakesOn.map(({ resource, actions }) => `${resource} ${actions.join(", ")}`)),
  ];
  return html`<section class="card padded"><h2 class="title">Where it waits</h2>
    ${
      wait &&
      html`<p class="soft">
      ${PLACES[wait.queue] || wait.queue}${wait.attempts ? `, ${counted(wait.attempts, "attempt")}` : ""}.${wait.gatingPlugin ? ` ${wait.gatingPlugin} keeps it.` : ""}
      ${wakes.length > 0 && ` It is tried again on: ${wakes.join("; ")}`}${wait.until ? `${wakes.length ? "; or" : " It is tried again"} at ${clock(wait.until)} at the latest.` : wakes.length ? "." : ""}
        </p>`
    }
    ${
      preemption?.message &&
      html`<p class="soft">
      <b>Preemption</b> ${preemption.helps ? `helps on ${preemption.node}` : "does not help"}: ${preemption.message.replace(/\.*$/, ".")}</p>`
    }
    ${
      preemption?.victims?.length > 0 &&
      html`<p
      class="soft">It would evict ${preemption.victims.join(", ")}.</p>`
    }</section>`;
}

function Bound({ pod }) {
  const Scores = usePhone() ? ScoreSums : ScoreMatrix;
  const { history = [], refusals = [] } = pod;
  const refused = [...refusals].sort((a, b) => b.nodes - a.nodes);
  const total = refused.reduce((sum, group) => sum + group.nodes, 0);
  return html`<section class="card"><div class="title-block">
    <h2 class="title">Scores of the best nodes</h2>
    <p class="tiny soft">score × weight; a tint marks what differs from the node chosen</p></div>
      <${Scores} scores=${pod.scores} weights=${pod.weights} best=${pod.best}
        zones=${pod.zones || {}} node=${pod.node} /></section>
    <div class="columns three below"><section class="card padded"><h2 class="title">The choice</h2>
      <p class="soft">${tie(pod)}</p></section>
      <section class="card padded"><h2 class="title">Refused, ${counted(total, "node")}</h2>
        ${refused.length === 0 && html`<p class="soft">Every node passed all plugins.</p>`}
        <ul class="sums tight">${refused.map(
          (group) => html`<li
        key=${group.plugin + group.reasons.join()}><b class="number">${count(group.nodes)}</b>
        <span class="soft">${group.reasons.join("; ")}</span></li>`,
        )}</ul></section>
      <section class="card padded"><h2 class="title">In the recording</h2>
        ${
          history.length
            ? html`<ul class="soft">${history.map(
                (one) => html`<li
        key=${one.time}>${clock(one.time, { millis: true })} ${one.node || one.message} <code>
        ${one.revision}</code></li>`,
              )}
        </ul>`
            : html`<p class="soft">No recording has its decision.</p>`
        }</section></div>`;
}

function tie({ best, scores, choice, node, passed, nodes }) {
  const from = `${count(passed)} of ${count(nodes)} nodes passed.`;
  if (best.length > 1)
    return `${count(best.length)} nodes reach ${count(scores[0].total)}. Seed, the pod’s uid and the node’s name decide between them, so a replay takes ${choice} too. ${from}`;
  return choice === node
    ? `No other node has as high a score. ${from}`
    : `Now ${choice} would be taken. ${from}`;
}
