// All profiles, problems first.
import { html } from "../html.js";
import { Swatch } from "../icons.js";
import { DepthBar } from "../parts/bars.js";
import { Command } from "../parts/command.js";
import { Lead, Note } from "../parts/lead.js";
import { ProfileState, profileIndex, TrialWords } from "../parts/profile_state.js";
import { Rows } from "../parts/rows.js";
import { Empty, Failed, Loading } from "../parts/states.js";
import { href } from "../router.js";
import { Shell } from "../shell.js";
import { age, count, moment } from "../words.js";

export function Profiles(shared) {
  const { status, statusError, has } = shared;
  return html`<${Shell} view="profiles" title="Profiles" ...${shared}>
    ${
      !has("status")
        ? html`<${Empty}
      sentence="A recording has no state of profiles." />`
        : status
          ? html`<${Content}
      status=${status} />`
          : statusError
            ? html`<${Failed} error=${statusError} />`
            : html`<${Loading} what="the profiles" />`
    }<//>`;
}

function Content({ status }) {
  const index = profileIndex(status);
  if (!status.profiles.length)
    return html`<${Empty} sentence="No profile yet."
    command="kubectl apply -f profile.yaml">Pods that name a profile in spec.schedulerName are placed by it.<//>`;
  const since = (row) =>
    row.activeSince ? ` for ${age((moment(status.at) - moment(row.activeSince)) / 1000)}` : "";
  return html`<${Lead} sentence=${status.answer} />
    <${Rows} label="Profiles" rows=${status.profiles.map((one) => ({ ...one, key: one.name }))}
      columns=${[
        {
          key: "name",
          title: "Profile",
          phone: "name",
          cell: (row) => html`<a class="with-swatch" data-row href=${href(`profiles/${row.name}`)}>
        <${Swatch} index=${index(row.schedulerName)} /><span><span class="name">${row.name}</span>
        <span class="second">${row.preset || "no preset"} · pods name ${row.schedulerName}</span>
        </span></a>`,
        },
        {
          key: "state",
          title: "State",
          phone: "end",
          cell: (row) => html`<${ProfileState}
        profile=${row} />`,
        },
        {
          key: "revision",
          title: "Revision",
          cell: (row) => html`<code>
        ${row.activeRevision || "none yet"}</code><span class="second">active${since(row)}
        </span>`,
        },
        { key: "trial", title: "Trial", cell: (row) => html`<${TrialWords} trial=${row.trial} />` },
        {
          key: "queue",
          title: "Queue",
          phone: "under",
          cell: (row) =>
            row.queue
              ? html`<${DepthBar}
        depth=${row.queue} />`
              : "–",
        },
        { key: "pods", title: "Pods", number: true, cell: (row) => count(row.pods) },
      ]} />
    ${status.profiles
      .filter((row) => row.message)
      .map(
        (row) => html`<${Note} key=${row.name}
      severity=${row.ready === "False" ? "bad" : "warn"}><b>${row.name}</b>: ${row.message}<//>`,
      )}
    <div class="below"><${Command} text="moorage status" /></div>`;
}
