import { z } from "@hono/zod-openapi";
import { RecordMode } from "#shared/protocol/schema/record-mode.ts";
import { VIEWER_EVENTS } from "#shared/protocol/schema/viewer-event.ts";

/** One event as JSON, in bytes of UTF-8. A writer shortens its texts so that it fits. */
export const MAX_EVENT_BYTES = 16 * 1024;
const MAX_TEXT = 2_000;
const MAX_URL = 2_000;

const text = z.string().max(MAX_TEXT);
const url = z.string().max(MAX_URL);
const name = z.string().max(200);
const count = z.number().int().min(0);
const where = z.number().min(-100_000).max(100_000);

/** In pixels of the screen, which are those of the picture. */
export const Box = z.object({ x: where, y: where, width: where, height: where });
export type Box = z.infer<typeof Box>;

/** A tab by the number that the session gives it; where a number is not known, by its target. */
const tab = name.optional();
/** Lines and columns count from 0, as browsers tell them. */
const source = { url: url.optional(), line: count.optional(), column: count.optional() };

const event = <T extends string, S extends z.ZodRawShape>(type: T, shape: S) =>
  z.object({ type: z.literal(type), ...shape });

/**
 * What happened (rules/recordings#the-events). Secrets never stand here: arguments, addresses and texts are masked by
 * the worker before they are written.
 */
export const RecordingEvent = z.discriminatedUnion("type", [
  /** The first frame of every recording. */
  event("start", {
    at: z.iso.datetime(),
    of: z.enum(["job", "session"]),
    id: name,
    mode: RecordMode,
    screen: z.enum(["headful", "headless"]),
    /** Kinds of events that this run cannot hear without its page noticing it, or not yet: see `hears`. */
    unheard: z.array(name).max(20).optional(),
  }),
  /** From here on these kinds are heard as well. */
  event("hears", { kinds: z.array(name).max(20) }),
  event("stage", { stage: name, text: text.optional() }),
  event("navigation", { url, status: count.optional(), tab }),
  /** Written when the action is over: it began `ms` before. */
  event("action", {
    name,
    arguments: z.record(z.string(), z.unknown()).optional(),
    ms: count,
    outcome: z.enum(["done", "failed"]),
    error: text.optional(),
    box: Box.optional(),
    tab,
    by: z.enum(["api", "script", "recipe", "agent"]).optional(),
  }),
  event("step", {
    of: z.enum(["recipe", "script", "agent"]),
    text,
    reason: text.optional(),
    outcome: z.enum(["done", "failed"]).optional(),
    box: Box.optional(),
  }),
  ...VIEWER_EVENTS,
  event("cdp", { state: z.enum(["connected", "disconnected"]), by: name.optional() }),
  event("tab", {
    state: z.enum(["opened", "closed", "active"]),
    tab: name,
    url: url.optional(),
  }),
  event("dialog", {
    state: z.enum(["opened", "accepted", "dismissed"]),
    kind: name,
    text: text.optional(),
    by: name.optional(),
  }),
  event("download", {
    state: z.enum(["began", "completed", "failed"]),
    name,
    url: url.optional(),
    bytes: count.optional(),
  }),
  event("console", { level: name, text, ...source }),
  event("error", { text, ...source }),
  /** `source`, `line` and `column`: where in the page's code it was made. */
  event("request_failed", {
    url,
    error: name,
    resource: name.optional(),
    source: url.optional(),
    line: count.optional(),
    column: count.optional(),
  }),
  event("note", { level: z.enum(["info", "warn"]), text }),
]);
export type RecordingEvent = z.infer<typeof RecordingEvent>;

/** An event with the moment at which it was written, in milliseconds since the run began. */
export type TimedEvent = RecordingEvent & { at_ms: number };
