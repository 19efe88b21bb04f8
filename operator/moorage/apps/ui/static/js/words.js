// Numbers, times and lengths of time as the page writes them. Times are UTC, as in the commands.

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
const two = (number) => String(number).padStart(2, "0");

/** 61480 as "61,480"; nothing known as a dash. */
export const count = (number) => (number == null ? "–" : whole.format(number));

/** "1 pod", "2 pods". */
export const counted = (number, noun, plural = `${noun}s`) =>
  `${count(number)} ${number === 1 ? noun : plural}`;

/** A rate or a length with the digits that matter: 38.0, 0.21. */
export function decimal(number, digits = 1) {
  return number == null
    ? "–"
    : number.toLocaleString("en-US", {
        minimumFractionDigits: digits,
        maximumFractionDigits: digits,
      });
}

/** A share of 0 to 1 as "73.8 %". */
export const percent = (share, digits = 1) =>
  share == null ? "–" : `${decimal(share * 100, digits)} %`;

/** A difference with its sign; the minus is a minus. */
export const signed = (number, digits = 0) =>
  `${number > 0 ? "+" : number < 0 ? "−" : ""}${decimal(Math.abs(number), digits)}`;

/** Seconds as "0.1 s", "47 min", "2 h 11 min", "3 d 5 h"; what is still to come is 0.0 s old. */
export function age(given) {
  if (given == null) return "–";
  const seconds = Math.max(0, given);
  if (seconds < 10) return `${decimal(seconds, 1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  const days = Math.floor(hours / 24);
  return days < 10 && hours % 24 ? `${days} d ${hours % 24} h` : `${days} d`;
}

/** A moment from RFC 3339 or seconds since 1970; null where there is none. */
export function moment(time) {
  if (time == null || time === "") return null;
  const date = new Date(typeof time === "number" ? time * 1000 : time);
  return Number.isNaN(date.getTime()) ? null : date;
}

/** "14:32:08". */
export function clock(time, { seconds = true, millis = false } = {}) {
  const date = moment(time);
  if (!date) return "–";
  const text = `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}`;
  if (!seconds) return text;
  const end = millis ? `.${String(date.getUTCMilliseconds()).padStart(3, "0")}` : "";
  return `${text}:${two(date.getUTCSeconds())}${end}`;
}

/** "27 Nov". */
export function day(time) {
  const date = moment(time);
  return date ? `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}` : "–";
}

/** "24 Nov 09:12". */
export const dayAndTime = (time) =>
  moment(time) ? `${day(time)} ${clock(time, { seconds: false })}` : "–";

/**
 * Seconds since 1970 as RFC 3339, to the second; what addresses hold. It is the second that comes
 * next: what happened has happened then, and no recording begins later.
 */
export const rfc3339 = (seconds) =>
  new Date(Math.ceil(seconds) * 1000).toISOString().replace(".000", "");

const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];

/** Bytes as Kubernetes writes them, short: 51.8Gi. */
export function bytes(number) {
  let power = 0;
  let left = number;
  while (left >= 1024 && power < BINARY.length - 1) {
    left /= 1024;
    power += 1;
  }
  return `${decimal(left, left < 100 && !Number.isInteger(left) ? 1 : 0)}${BINARY[power]}`;
}

/** An amount of a resource as its columns hold it: millicores of cpu, bytes, or things. */
export function amount(resource, number) {
  if (resource === "cpu") return decimal(number / 1000, number % 1000 ? 1 : 0);
  if (resource === "memory" || resource === "ephemeral-storage") return bytes(number);
  return count(number);
}

const SHORT = { cpu: "CPU", memory: "Memory", pods: "Pods", fragmentation: "Fragmentation" };

/** A resource's name where there is little room: nvidia.com/gpu is GPU. */
export function resourceName(name) {
  if (SHORT[name]) return SHORT[name];
  const last = name.split("/").pop();
  return last === "gpu" ? "GPU" : last;
}
