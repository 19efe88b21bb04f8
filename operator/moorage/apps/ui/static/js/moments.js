// Moments: the one in the address, and the marks of what happened.
import { go, withQuery } from "./router.js";
import { moment, rfc3339 } from "./words.js";

/** The shape of each kind of mark. */
export const MARKS = {
  swap: "swap",
  removed: "past",
  trial: "trialSwap",
  refused: "bad",
  leader: "past",
  gap: "warn",
  burst: "warn",
};

/** Seconds since 1970 of what the address says; null for the present. */
export function momentOf(at) {
  const date = moment(at);
  return date ? date.getTime() / 1000 : null;
}

/** Show a moment, in seconds since 1970; null for the present. */
export const setMoment = (time, options) =>
  go(withQuery({ at: time === null ? "" : rfc3339(time) }), options);

/** The part of a timeline that is shown: `seconds` long, with the moment in it. */
export function spanOf(timeline, seconds, at) {
  const length = Math.min(seconds, timeline.end - timeline.begin) || 1;
  const end =
    at !== null && at < timeline.end - length
      ? Math.min(timeline.end, at + length / 2)
      : timeline.end;
  return {
    begin: Math.max(timeline.begin, end - length),
    end: Math.max(timeline.begin + length, end),
  };
}

/** The value of a curve at a moment. */
export const valueAt = (timeline, curve, time) => {
  const i = Math.round((time - timeline.begin) / timeline.step);
  return timeline[curve][Math.max(0, Math.min(timeline[curve].length - 1, i))];
};
