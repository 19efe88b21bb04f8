// How the scheduler is: the sentence, what needs a look, figures, profiles, groups and
// why pods wait, what happened.
import { html } from "../html.js";
import { Shape } from "../icons.js";
import { MARKS, momentOf, valueAt } from "../moments.js";
import { CountedBar, QUEUES } from "../parts/bars.js";
import { Command } from "../parts/command.js";
import { Head, Lead, Note, Spelled, Strip } from "../parts/lead.js";
import { profileColumns } from "../parts/profile_columns.js";
import { Rows } from "../parts/rows.js";
import { Empty, Failed, Loading } from "../parts/states.js";
import { WaitingGroups } from "../parts/waiting_groups.js";
import { href } from "../router.js";
import { Shell } from "../shell.js";
import { useDocument } from "../source.js";
import {
  age,
  amount,
  clock,
  count,
  counted,
  decimal,
  moment,
  percent,
  rfc3339,
} from "../words.js";

export function Overview(shared) {
  const { overview, status, statusError, timeline, has, at } = shared;
  const queue = useDocument(has("queue") ? "queue" : null, { at }).doc;
  return html`<${Shell} view="overview" title="Overview" ...${shared}>
    <${Content} overview=${overview} status=${status} error=${statusError} timeline=${timeline}
      queue=${queue} at=${at} has=${has} /><//>`;
}

function Content({ overview, status, error, timeline, queue, at, has }) {
  const loading = has("status") && !status && !error;
  return html`<${Lead} sentence=${status?.answer || overview.answer}
    under=${overview.answer === status?.answer ? "" : status ? overview.answer : ""} />
    ${!status && error && html`<${Failed} error=${error} />`}
    ${(status?.problems || []).slice(0, 3).map(
      (one) => html`<${Problem}
      key=${`${one.profile} ${one.text}`} problem=${one} />`,
    )}
    <${Figures} overview=${overview} status=${status} timeline=${timeline} queue=${queue}
      at=${at} />
    ${loading && html`<${Loading} rows=${4} what="the profiles" />`}
    ${status && html`<${Profiles} status=${status} timeline=${timeline} at=${at} />`}
    ${status && html`<${WaitingGroups} status=${status} queue=${queue} />`}
    <div class="columns"><${Waiting} queue=${queue} /><${Happened} timeline=${timeline} at=${at} />
      </div>
    ${((has("status") ? status : overview)?.leftOut || []).map(
      (text) => html`<p key=${text} class="left-out small quiet">
      ${text}</p>`,
    )}`;
}

function Problem({ problem }) {
  const { severity, profile, text, next } = problem;
  const rest = profile && text.startsWith(profile) ? text.slice(profile.length) : text;
  return html`<${Note} severity=${severity} link=${profile && href(`profiles/${profile}`)}
    linkText=${severity === "trial" ? "See the trial" : "See the profile"}>
    ${profile && html`<b>${profile}</b>${rest === text ? ": " : ""}`}<${Spelled} text=${rest} />
      ${!profile && next && html`<${Command} text=${next} />`}<//>`;
}

function Figures({ overview, status, timeline, queue, at }) {
  const now = momentOf(at) ?? timeline?.end;
  const then = (curve) => (timeline ? valueAt(timeline, curve, now) : null);
  const cpu = overview.resources.cpu;
  const oldest = (queue?.rows || [])
    .map((row) => moment(row.since))
    .filter(Boolean)
    .sort((a, b) => a - b)[0];
  const { placed = then("placed"), p99 = then("p99") } = status?.rates || {};
  return html`<${Strip} figures=${[
    {
      label: "Placed",
      value: placed == null ? "–" : `${decimal(placed)} / s`,
      under: "pods that found a node",
    },
    {
      label: "Created to bound",
      value: p99 == null ? "–" : `${decimal(p99, 2)} s`,
      under: "99 of 100 pods are quicker",
    },
    {
      label: "Waiting",
      value: count(overview.waiting),
      under: oldest ? `oldest ${age((moment(overview.at) - oldest) / 1000)}` : "",
    },
    {
      label: "CPU requested",
      value: cpu?.allocatable ? percent(cpu.requested / cpu.allocatable) : "–",
      under: cpu && `of ${amount("cpu", cpu.allocatable)} cores`,
    },
    { label: "Pods on nodes", value: count(overview.pods), under: counted(overview.nodes, "node") },
  ]} />`;
}

const WORSE = { False: 0, Unknown: 1, True: 2 };

function Profiles({ status, timeline, at }) {
  if (!status.profiles.length) {
    return html`<${Empty} sentence="No profile yet."
      command="kubectl apply -f profile.yaml">Pods that name a profile in spec.schedulerName are placed by it.<//>`;
  }
  const rows = [...status.profiles]
    .sort((a, b) => (WORSE[a.ready] ?? 1) - (WORSE[b.ready] ?? 1))
    .map((one) => ({ ...one, key: one.name }));
  return html`<${Head} title="Profiles"
    side=${html`problems first <kbd>j</kbd> <kbd>k</kbd> to move`} />
    <${Rows} label="Profiles" rows=${rows} columns=${profileColumns({
      status,
      timeline,
      at,
      keys: ["name", "state", "revision", "queue", "placed", "p99", "trial"],
      second: (row) =>
        [row.preset, row.pods != null && `${count(row.pods)} pods`].filter(Boolean).join(" · "),
    })} />`;
}

const WAITS = {
  gated: "wait for a gate or for members of their group",
  active: "are next in line",
  unschedulable: "find no node",
  backoff: "wait out a backoff",
};

function Waiting({ queue }) {
  if (!queue) return html`<section></section>`;
  const kinds = QUEUES.map(([key]) => key)
    .filter((key) => queue.depth[key] > 0)
    .sort((a, b) => queue.depth[b] - queue.depth[a]);
  const most = queue.depth[kinds[0]];
  const of = (kind) =>
    queue.rows
      .filter((row) => row.queue === kind)
      .sort((a, b) => b.pods.length - a.pods.length)
      .slice(0, 2)
      .map((row) => `${count(row.pods.length)} ${row.name}${row.why ? `: ${row.why}` : ""}`)
      .join("; ");
  return html`<section><${Head} title="Why pods wait"
    side=${counted(
      Object.values(queue.depth).reduce((sum, one) => sum + one, 0),
      "pod",
    )} />
    <div class="card padded">${
      kinds.length
        ? html`<ul>${kinds.map(
            (kind) => html`<${CountedBar}
      key=${kind} number=${queue.depth[kind]} most=${most} queue=${kind} text=${WAITS[kind]}
      under=${of(kind)} />`,
          )}</ul>`
        : html`<p class="soft">Nothing waits.</p>`
    }
    </div></section>`;
}

function Happened({ timeline, at }) {
  if (!timeline) return html`<section></section>`;
  const until = momentOf(at) ?? timeline.end;
  const marks = timeline.marks
    .filter((mark) => mark.time <= until)
    .sort((a, b) => b.time - a.time)
    .slice(0, 6);
  return html`<section><${Head} title="What happened" side="newest first" />
    <div class="card padded">${
      marks.length
        ? html`<ul class="happened">
      ${marks.map(
        (mark) => html`<li key=${`${mark.time} ${mark.text}`}>
      <a class="soft number" href=${href("recordings", { at: rfc3339(mark.time) })}>
        ${clock(mark.time, { seconds: false })}</a><${Shape} state=${MARKS[mark.what]} />
        <span>${mark.text}</span></li>`,
      )}
        </ul>`
        : html`<p class="soft">Nothing of note since ${clock(timeline.begin)}.</p>`
    }</div></section>`;
}
