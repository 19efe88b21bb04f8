// Pod groups that wait: how many of their members, for how long, and why.
import { html } from "../html.js";
import { Swatch } from "../icons.js";
import { href } from "../router.js";
import { age, clock, count, counted, moment } from "../words.js";
import { Head } from "./lead.js";
import { profileIndex } from "./profile_state.js";
import { Rows } from "./rows.js";

/** Groups in sight: those that wait the longest. */
const SHOWN = 6;

/**
 * Nothing where no group waits. `queue` has the pods, so that a group leads to its first member.
 * @param {{status: any, queue?: any}} props
 */
export function WaitingGroups({ status, queue }) {
  const groups = status.groups || [];
  if (!groups.length) return null;
  const pods = queue?.pods || [];
  const link = ({ group }) => {
    const first = pods.find((pod) => pod.group === group);
    return href(first ? `pods/${first.pod}` : "queue");
  };
  const more = groups.length - SHOWN;
  const rows = groups
    .slice(0, SHOWN)
    .map((one) => ({ ...one, key: `${one.api} ${one.group} ${one.schedulerName}` }));
  return html`<section><${Head} title="Groups that wait" side=${counted(groups.length, "group")} />
    <${Rows} label="Groups that wait" rows=${rows} columns=${columns(status, link)} />
    ${more > 0 && html`<p class="small quiet">and ${count(more)} more</p>`}</section>`;
}

function columns(status, link) {
  const index = profileIndex(status);
  return [
    {
      key: "name",
      title: "Group",
      phone: "name",
      cell: (row) => html`<a class="name cut" data-row href=${link(row)}>${row.group}</a>`,
    },
    {
      key: "profile",
      title: "Profile",
      cell: (row) => html`<span class="with-swatch"><${Swatch} index=${index(row.schedulerName)} />
        ${row.schedulerName}</span>`,
    },
    { key: "members", title: "Members", cell: members },
    {
      key: "waits",
      title: "Waits for",
      number: true,
      phone: "end",
      cell: (row) => age((moment(status.at) - moment(row.since)) / 1000),
    },
    {
      key: "why",
      title: "Why",
      phone: "under",
      cell: (row) => html`<span class="cut soft" title=${why(row)}>${why(row)}</span>`,
    },
  ];
}

function members({ waiting, placed, minCount }) {
  const of = minCount == null ? "" : ` of ${count(minCount)}`;
  return `${count(waiting)} ${waiting === 1 ? "waits" : "wait"}, ${count(placed)}${of} placed`;
}

function why({ why: text, roomHeldUntil: until }) {
  return until ? `${text}; room is held for it until ${clock(until)} at the latest` : text;
}
