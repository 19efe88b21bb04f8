// The columns of tables of profiles; each view takes those that it has room for.
import { html } from "../html.js";
import { Swatch } from "../icons.js";
import { momentOf } from "../moments.js";
import { href } from "../router.js";
import { age, count, dayAndTime, decimal, moment } from "../words.js";
import { DepthBar } from "./bars.js";
import { ProfileState, profileIndex, TrialWords } from "./profile_state.js";
import { lastHour, Spark } from "./spark.js";

/**
 * These columns, in this order, of the rows of a Status document. `second`: the line below a name;
 * `timeline` and `at`: of which hour its rate is drawn.
 * @param {{status: any, keys: string[], second: (row: any) => string, timeline?: any, at?: string}} table
 */
export function profileColumns({ status, keys, second, timeline, at }) {
  const index = profileIndex(status);
  const columns = {
    name: {
      title: "Profile",
      phone: "name",
      cell: (row) => html`<a class="with-swatch" data-row href=${href(`profiles/${row.name}`)}>
        <${Swatch} index=${index(row.schedulerName)} /><span><span class="name">${row.name}</span>
        <span class="second">${second(row)}</span></span></a>`,
    },
    state: {
      title: "State",
      phone: "end",
      cell: (row) => html`<${ProfileState} profile=${row} />`,
    },
    revision: {
      title: "Revision",
      cell: (row) => html`<${Revision} profile=${row} at=${status.at} />`,
    },
    queue: {
      title: "Queue",
      phone: "under",
      cell: (row) => (row.queue ? html`<${DepthBar} depth=${row.queue} />` : "–"),
    },
    placed: {
      title: timeline ? "Placed / s, last hour" : "Placed / s",
      number: true,
      cell: (row) =>
        html`<${Placed} row=${row} timeline=${timeline} at=${at} index=${index(row.schedulerName)} />`,
    },
    p99: {
      title: "p99",
      number: true,
      cell: (row) => (row.rates?.p99 == null ? "–" : `${decimal(row.rates.p99, 2)} s`),
    },
    trial: { title: "Trial", cell: (row) => html`<${TrialWords} trial=${row.trial} />` },
    pods: {
      title: "Pods",
      number: true,
      cell: (row) => (row.pods == null ? "–" : count(row.pods)),
    },
  };
  return keys.map((key) => ({ key, ...columns[key] }));
}

function Placed({ row, timeline, at, index }) {
  const points = timeline ? lastHour(timeline, curveOf(timeline, row), momentOf(at)) : [];
  return html`<span class="placed"><${Spark} points=${points} index=${index} />
    <span>${decimal(row.rates?.placed)}</span></span>`;
}

/** Of a profile that has placed nothing there is no curve: it is nought where anything is known. */
const curveOf = ({ placedBy, placed }, { schedulerName }) =>
  placedBy[schedulerName] || placed.map((one) => (one == null ? null : 0));

function Revision({ profile, at }) {
  const { activeRevision, activeSince, desiredRevision, state, trial } = profile;
  const refused = state === "Refused";
  const on = trial?.verdict === "SoFarNoWorse";
  return html`<code>${activeRevision || "none yet"}</code>
    ${refused && activeSince && html`<span class="second is-bad">last good since ${dayAndTime(activeSince)}</span>`}
    ${on && html`<span class="second is-trial">on trial <code>${trial.revision || desiredRevision}</code></span>`}
    ${!refused && !on && activeSince && html`<span class="second">active for ${age((moment(at) - moment(activeSince)) / 1000)}</span>`}`;
}
