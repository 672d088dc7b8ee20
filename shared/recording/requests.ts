import { z } from "@hono/zod-openapi";
import { HarEntry } from "#shared/protocol/schema/har.ts";

/** One note as JSON, in bytes of UTF-8. A writer leaves out what does not fit. */
export const MAX_REQUEST_BYTES = 64 * 1024;
/** Bounds of one recording (rules/recordings#requests). */
export const MOST_REQUESTS = 20_000;
export const MOST_REQUEST_BYTES = 32 * 1024 * 1024;

/** Bounds of the bodies that are kept of a session (rules/recordings#bodies-of-a-session). */
export const MOST_BODY_BYTES = 32 * 1024 * 1024;
export const MOST_BODIES_BYTES = 512 * 1024 * 1024;

const count = z.number().int().min(0);

/** A request as far as it is known; a later note of the same `n` stands for it instead. */
const NotedRequest = z.object({
  /** Its number in the recording, in the order in which they began. */
  n: count.min(1),
  /** When it began, in milliseconds since the run did. */
  at_ms: count,
  har: HarEntry,
});

/** Payload of a `request` frame (rules/recordings#requests). Secrets are masked by the worker before it is written. */
export const RequestNote = z.union([
  NotedRequest,
  /** What asks from now on, e.g. `Chrome/156.0.8078.73`. */
  z.object({ browser: z.string().max(200) }),
  /** How many requests were left out so far. */
  z.object({ dropped: count }),
]);
export type RequestNote = z.infer<typeof RequestNote>;
