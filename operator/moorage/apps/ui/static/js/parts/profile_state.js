// A profile's state as shape and word, its colour by order of creation, and its trial in words.
import { html } from "../html.js";
import { counted } from "../words.js";
import { Chip } from "./lead.js";

const STATES = {
  Ready: ["ok", "Ready"],
  Refused: ["bad", "Spec refused"],
  Unresolved: ["bad", "Reference does not hold"],
  Forbidden: ["bad", "A right is missing"],
  LastGood: ["bad", "Last good revision"],
  RolledBack: ["bad", "Rolled back"],
  Trial: ["trial", "Trial running"],
  Suspended: ["quiet", "Suspended"],
  Observing: ["quiet", "Observing"],
  Paused: ["quiet", "Paused"],
  Pending: ["quiet", "Not ready yet"],
};

export function ProfileState({ profile }) {
  const [state, word] = STATES[profile.state] || [
    profile.ready === "True" ? "ok" : "bad",
    profile.state,
  ];
  return html`<${Chip} state=${state}>${word}<//>`;
}

/**
 * The place of each profile in the order of creation, which is its colour: a function of its
 * schedulerName, which pods and decisions name.
 */
export function profileIndex(status) {
  const order = [...(status?.profiles || [])].sort(
    (a, b) => (a.created || "").localeCompare(b.created || "") || a.name.localeCompare(b.name),
  );
  const places = new Map(order.map((one, i) => [one.schedulerName, i]));
  return (schedulerName) => places.get(schedulerName) ?? 0;
}

export const VERDICTS = {
  SoFarNoWorse: ["trial", "No worse so far"],
  Passed: ["ok", "Passed"],
  Regressed: ["bad", "Regressed, rolled back"],
  TooFewPods: ["quiet", "No verdict: too few pods"],
  Stopped: ["quiet", "Stopped"],
};

/** Pods that both revisions would have on one node. */
export const sameNode = ({ agreed, refused }) => agreed - refused;

/** Those that they would have on different nodes. */
export const otherNode = ({ decided, agreed, regressions, improvements }) =>
  decided - agreed - regressions - improvements;

export function TrialWords({ trial }) {
  if (!trial) return html`<span class="quiet">None</span>`;
  const [state, word] = VERDICTS[trial.verdict] || ["quiet", trial.verdict || "Runs"];
  return html`<span class=${`is-${state}`}>${word}</span>
    <span class="second">
    ${[counted(trial.decided || 0, "pair"), `${sameNode(trial)} same node`, counted(trial.regressions || 0, "regression")].join(" · ")}
    </span>`;
}
