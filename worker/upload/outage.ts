import type { Clock } from "#shared/kit/clock.ts";
import type { JobStory } from "#worker/link/story.ts";

/** An occasional failure of the store is not worth a log line each time. */
const TELL_EVERY_MS = 60_000;

/**
 * What the uploads of one job know about a hub that cannot store anything now: its disk is full or read-only, or a
 * store behind it is away. All bodies share its fate, so they share its clock too.
 */
export interface Outage {
  /** When it began, by the monotonic clock; null while bodies are stored. */
  readonly since: number | null;
  /** The hub's latest reason. */
  readonly reason: string;
  /** Until when refused bodies are retried; null when each is retried as long as after any other failure. */
  give_up_at: number | null;
  refused(reason: string): void;
  stored(): void;
}

export function createOutage(clock: Clock, story: JobStory): Outage {
  let since: number | null = null;
  let reason = "";
  let told_at = Number.NEGATIVE_INFINITY;
  let told = false;
  return {
    get since() {
      return since;
    },
    get reason() {
      return reason;
    },
    give_up_at: null,
    refused: (why) => {
      reason = why;
      if (since !== null) return;
      since = clock.monotonic();
      if (since - told_at < TELL_EVERY_MS) return;
      told_at = since;
      told = true;
      const text = `the hub cannot store anything now, and what was captured waits on the worker: ${why}`;
      story.log("warn", "upload", text);
    },
    stored: () => {
      if (since === null) return;
      const seconds = Math.round((clock.monotonic() - since) / 1_000);
      since = null;
      if (told) story.log("info", "upload", `the hub stores again after ${seconds} s`);
      told = false;
    },
  };
}

/** Statuses of a hub that would store if it could. */
const UNAVAILABLE = [503, 507];

/** The hub's reason in an answer that says it stores nothing now; null for any other answer. */
export function reasonOfOutage(status: number, text: string): string | null {
  if (!UNAVAILABLE.includes(status)) return null;
  let detail: unknown;
  try {
    detail = (JSON.parse(text) as { detail?: unknown } | null)?.detail;
  } catch {
    // This answer comes from a router in between.
  }
  return `HTTP ${status}: ${typeof detail === "string" ? detail.slice(0, 500) : text.slice(0, 200)}`;
}
