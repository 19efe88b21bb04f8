// All profiles, problems first.
import { html } from "../html.js";
import { Command } from "../parts/command.js";
import { Lead, Note } from "../parts/lead.js";
import { profileColumns } from "../parts/profile_columns.js";
import { Rows } from "../parts/rows.js";
import { Empty, Failed, Loading } from "../parts/states.js";
import { Shell } from "../shell.js";

export function Profiles(shared) {
  const { status, statusError, timeline, at, has } = shared;
  return html`<${Shell} view="profiles" title="Profiles" ...${shared}>
    ${
      !has("status")
        ? html`<${Empty}
      sentence="A recording has no state of profiles." />`
        : status
          ? html`<${Content}
      status=${status} timeline=${timeline} at=${at} />`
          : statusError
            ? html`<${Failed} error=${statusError} />`
            : html`<${Loading} what="the profiles" />`
    }<//>`;
}

function Content({ status, timeline, at }) {
  if (!status.profiles.length)
    return html`<${Empty} sentence="No profile yet."
    command="kubectl apply -f profile.yaml">Pods that name a profile in spec.schedulerName are placed by it.<//>`;
  return html`<${Lead} sentence=${status.answer} />
    <${Rows} label="Profiles" rows=${status.profiles.map((one) => ({ ...one, key: one.name }))}
      columns=${profileColumns({
        status,
        timeline,
        at,
        keys: ["name", "state", "revision", "trial", "queue", "placed", "pods"],
        second: (row) => `${row.preset || "no preset"} · pods name ${row.schedulerName}`,
      })} />
    ${status.profiles
      .filter((row) => row.message)
      .map(
        (row) => html`<${Note} key=${row.name}
      severity=${row.ready === "False" ? "bad" : "warn"}><b>${row.name}</b>: ${row.message}<//>`,
      )}
    <div class="below"><${Command} text="moorage status" /></div>`;
}
