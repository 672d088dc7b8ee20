/** Where the player is. Plain data, so that what keys and buttons do can be said without a browser. */
export interface Transport {
  /** Milliseconds since the run began. */
  ms: number;
  /** How long the recording is by now. */
  whole_ms: number;
  playing: boolean;
  speed: number;
  /** At the right end of a run that goes on: the screen is live, and stays at the end. */
  following: boolean;
  live: boolean;
}

export const SPEEDS = [0.5, 1, 4, 16] as const;
export const NUDGE_MS = 100;
/** Nearer to its end a live recording is watched live. */
const END_MS = 1_000;

export const startTransport = (given: {
  whole_ms: number;
  live: boolean;
  at_ms: number | null;
}): Transport => {
  const { whole_ms, live, at_ms } = given;
  const following = live && at_ms === null;
  const ms = clamp(at_ms ?? whole_ms, whole_ms);
  return { ms, whole_ms, playing: false, speed: 1, following, live };
};

const clamp = (ms: number, whole_ms: number): number => Math.min(Math.max(0, ms), whole_ms);

/** Goes to a moment; to the end of a live recording means to stay there. */
export function seek(now: Transport, ms: number): Transport {
  const to = clamp(ms, now.whole_ms);
  const following = now.live && to >= now.whole_ms - END_MS;
  return { ...now, ms: to, following, playing: now.playing && !following };
}

/** Plays or pauses; at the end it plays from the beginning. */
export function toggle(now: Transport): Transport {
  if (now.playing) return { ...now, playing: false };
  const over = now.ms >= now.whole_ms;
  return { ...now, playing: true, following: false, ms: over || now.following ? 0 : now.ms };
}

/** Time went by. Playing a live recording catches up with its end. */
export function tick(now: Transport, passed_ms: number): Transport {
  if (!now.playing) return now;
  const ms = now.ms + passed_ms * now.speed;
  if (ms < now.whole_ms) return { ...now, ms };
  return { ...now, ms: now.whole_ms, playing: false, following: now.live };
}

/** The recording has grown, or is over. */
export function grow(now: Transport, whole_ms: number, live: boolean): Transport {
  if (whole_ms === now.whole_ms && live === now.live) return now;
  const longer = Math.max(now.whole_ms, whole_ms);
  const following = now.following && live;
  return { ...now, live, following, whole_ms: longer, ms: now.following ? longer : now.ms };
}

/** `12.4`, as it stands in an address. */
export const momentParam = (ms: number): string => String(Math.round(ms / 100) / 10);

/** Of an address; null for anything that is no moment. */
export function momentOfParam(text: string): number | null {
  const s = Number(text);
  return text.trim() === "" || !Number.isFinite(s) || s < 0 ? null : Math.round(s * 1_000);
}

/** A time of day in a recording; null for anything that is no time. */
export function momentOfTime(at: string, started_at: string): number | null {
  const ms = Date.parse(at) - Date.parse(started_at);
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}

const two = (n: number): string => String(n).padStart(2, "0");

/** 12.4 s, 1:12.4 and 1:02:03.5, for a place in a recording. */
export function placeText(ms: number): string {
  const tenths = Math.floor(Math.max(0, ms) / 100);
  const s = Math.floor(tenths / 10);
  if (s < 60) return `${s}.${tenths % 10} s`;
  const [hours, minutes, seconds] = [Math.floor(s / 3600), Math.floor(s / 60) % 60, s % 60];
  const rest = `${two(seconds)}.${tenths % 10}`;
  return hours > 0 ? `${hours}:${two(minutes)}:${rest}` : `${minutes}:${rest}`;
}
