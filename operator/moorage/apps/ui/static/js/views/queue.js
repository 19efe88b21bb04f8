// Who waits, in which order, for what, until when.
import { html, useMemo } from "../html.js";
import { Swatch } from "../icons.js";
import { DepthLegend } from "../parts/bars.js";
import { LinkChoice } from "../parts/choices.js";
import { Lead } from "../parts/lead.js";
import { profileIndex } from "../parts/profile_state.js";
import { VirtualRows } from "../parts/rows.js";
import { Shown } from "../parts/states.js";
import { href } from "../router.js";
import { Shell } from "../shell.js";
import { useDocument } from "../source.js";
import { age, clock, count, counted, moment } from "../words.js";

const BANDS = [
  ["active", "Next in line", "in the order in which they will be tried"],
  ["backoff", "Waiting out a backoff", ""],
  ["unschedulable", "No node will do", "each wakes when something happens that may help"],
  ["gated", "Gated", "not tried until the gate is gone"],
];

export function Queue(shared) {
  const { at, route, status, overview } = shared;
  const { profile = "" } = route.query;
  const entry = useDocument("queue", { at });
  const names = (status?.profiles || []).map((one) => one.name);
  const options = [
    ["", "All", href("queue")],
    ...names.map((name) => [name, name, href("queue", { profile: name })]),
  ];
  return html`<${Shell} view="queue" title="Queue" ...${shared}>
    <${Shown} entry=${entry} rows=${12} what="the queue">${(queue) => html`<${Content}
      queue=${filtered(queue, profile, status)} index=${profileIndex(status)}
      now=${queue.at || overview?.at}
      choice=${
        names.length > 1 &&
        html`<${LinkChoice} label="Profile" options=${options}
        value=${profile} />`
      } />`}<//><//>`;
}

function Content({ queue, index, now, choice }) {
  const rows = useMemo(() => banded(queue), [queue.rows]);
  const waits = (since) => age((moment(now) - moment(since)) / 1000);
  return html`<${Lead} sentence=${queue.answer} />
    ${choice && html`<div class="tools">${choice}</div>`}
    <${DepthLegend} depth=${queue.depth}
      side=${queue.ordered ? "one order for all profiles: priority, then age" : "the order is not known"} />
    ${
      rows.length > 0 &&
      html`<${VirtualRows} label="Queue" rows=${rows} columns=${[
        {
          key: "position",
          title: "#",
          number: true,
          phone: "end",
          cell: (row) => html`<span
        class="soft">${position(row)}</span>`,
        },
        { key: "name", title: "Pod", phone: "name", cell: (row) => html`<${Name} row=${row} />` },
        {
          key: "profile",
          title: "Profile",
          phone: "under",
          cell: (row) => html`<span
        class="with-swatch"><${Swatch} index=${index(row.schedulerName)} />${row.schedulerName}
        <span class="only-phone soft"> · ${row.why || untilOf(row)}</span></span>`,
        },
        { key: "priority", title: "Priority", number: true, cell: (row) => count(row.priority) },
        { key: "waits", title: "Waits for", number: true, cell: (row) => waits(row.since) },
        {
          key: "why",
          title: "Why",
          cell: (row) => html`<span class="cut soft" title=${row.why}>
        ${row.why}</span>`,
        },
        {
          key: "until",
          title: "Until",
          cell: (row) => html`<span class="soft">${untilOf(row)}
        </span>`,
        },
      ]} />`
    }`;
}

/** The queue of one profile: positions stay those of all, and the sums are the profile's own. */
function filtered(queue, profile, status) {
  if (!profile) return queue;
  const found = status?.profiles.find((one) => one.name === profile);
  const scheduler = found?.schedulerName ?? profile;
  return {
    ...queue,
    rows: queue.rows.filter((row) => row.schedulerName === scheduler),
    depth: found?.queue || queue.depth,
  };
}

/** Rows with the headings of their bands between them; bands without pods are left out. */
export function banded(queue) {
  return BANDS.flatMap(([key, title, under]) => {
    const rows = queue.rows.filter((row) => row.queue === key);
    if (!rows.length) return [];
    const number = rows.reduce((sum, row) => sum + Math.max(1, row.pods.length), 0);
    const words = [counted(number, "pod"), under]
      .filter(Boolean)
      .join(key === "active" ? ", " : "; ");
    const band = html`<i class=${`swatch ${key}`} aria-hidden="true"></i><b>${title}
      </b> <span class="soft">${words}</span>`;
    return [
      { band, key: `band ${key}` },
      ...rows.map((row, i) => ({ ...row, key: `${key} ${i} ${row.name}` })),
    ];
  });
}

function position({ first, last }) {
  if (first == null) return "";
  return first === last || last == null ? count(first) : `${count(first)}–${count(last)}`;
}

const untilOf = (row) => (row.queue === "active" ? "now" : row.until ? clock(row.until) : "");

function Name({ row }) {
  const [first] = row.pods;
  const many =
    row.pods.length > 1
      ? html` <span
    class="quiet">(${counted(row.pods.length, "pod")})</span>`
      : null;
  return html`<a class="name cut" data-row href=${href(`pods/${first || row.name}`)}
    title=${row.name}>${row.name}${many}</a>`;
}
