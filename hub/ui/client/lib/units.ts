import { humanSize } from "#shared/kit/words.ts";

/** Bytes as people read them, where they are known: 1.4 MB. */
export const bytesText = (bytes: number | null | undefined): string =>
  bytes === null || bytes === undefined ? "–" : humanSize(bytes);

/** Milliseconds as people read them: 840 ms, 12.3 s, 4 min 10 s, 2 h 5 min, 3 d 4 h. */
export function durationText(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  const exact = ms / 1_000;
  if (exact < 9.95) return `${exact.toFixed(1)} s`;
  // Rounded first, so that nothing is written as 60 s.
  const s = exact < 60 ? Math.round(exact) : exact;
  if (s < 60) return `${s} s`;
  const pair = (whole: number, unit: string, rest: number, small: string) =>
    rest === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${small}`;
  const min = Math.floor(s / 60);
  if (min < 60) return pair(min, "min", Math.floor(s % 60), "s");
  const h = Math.floor(min / 60);
  if (h < 24) return pair(h, "h", min % 60, "min");
  return pair(Math.floor(h / 24), "d", h % 24, "h");
}

// Nothing here is of Intl, whose tables take a browser 50 ms to load.
/** 1,234,567.5 */
export function countText(n: number | null | undefined): string {
  if (n === null || n === undefined) return "–";
  const [whole = "", part] = String(n).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return part === undefined ? grouped : `${grouped}.${part}`;
}

export const wholePercentText = (percent: number): string => `${Math.round(percent)} %`;
export const percentText = (share: number | null | undefined): string =>
  share === null || share === undefined ? "–" : wholePercentText(share * 100);

/** Only the larger unit: a time in minutes need not show seconds. */
const roughly = (ms: number): string =>
  ms < 60_000 ? `${Math.floor(ms / 1_000)} s` : durationText(ms).replace(/^(\d+ \S+) .*$/, "$1");

/** How long ago, from now or ahead of it. */
export function agoText(at: string | null | undefined, now: number): string {
  if (!at) return "–";
  const ms = now - Date.parse(at);
  if (Math.abs(ms) < 2_000) return "just now";
  return ms < 0 ? `in ${roughly(-ms)}` : `${roughly(ms)} ago`;
}

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
/** With leading zeros: 07. */
export const digits = (count: number, n: number): string => String(n).padStart(count, "0");
/** 22 Nov, of this browser's time zone. */
export const dayText = (at: Date): string => `${at.getDate()} ${MONTHS[at.getMonth()]}`;
/** 05:11, of this browser's time zone. */
export const clockText = (at: Date): string =>
  `${digits(2, at.getHours())}:${digits(2, at.getMinutes())}`;
/** 05:11; of a day other than `now`'s 22 Nov, 05:11. */
export const dayClockText = (at: Date, now: Date): string =>
  at.toDateString() === now.toDateString() ? clockText(at) : `${dayText(at)}, ${clockText(at)}`;
const secondText = (at: Date): string => `${clockText(at)}:${digits(2, at.getSeconds())}`;
/** 22 Nov, 05:11:03.042, of this browser's time zone. */
export const lineTimeText = (at: Date): string =>
  `${dayText(at)}, ${secondText(at)}.${digits(3, at.getMilliseconds())}`;

/** A moment in this browser's time zone: 22 Nov 2026, 05:11:03. */
export function timeText(at: string | null | undefined): string {
  if (!at) return "–";
  const date = new Date(at);
  return `${dayText(date)} ${date.getFullYear()}, ${secondText(date)}`;
}
