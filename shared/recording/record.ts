import { z } from "@hono/zod-openapi";
import { RecordMode } from "#shared/protocol/schema/record-mode.ts";
import { RecordingEvent } from "./events.ts";

const count = z.int().min(0);

/** A part of the screen's recording that can be decoded alone (`ChunkPlace`). */
const RecordingChunk = z
  .object({
    at_ms: count,
    ms: count,
    offset: count,
    length: count,
    width: count,
    height: count,
  })
  .openapi("RecordingChunk");

/** GET /jobs/{id}/recording (rules/recordings#read-a-recording). Times in milliseconds since the run began. */
export const Recording = z
  .object({
    state: z.enum(["live", "whole", "cut"]),
    mode: RecordMode,
    job_id: z.string().nullable(),
    session_id: z.string(),
    started_at: z.string(),
    ended_at: z.string().nullable(),
    /** What the recorder said at its end; null while it records, and where it was cut off. */
    end_reason: z.string().nullable(),
    ms: count,
    bytes: count,
    /** Of the last picture, in pixels; null while there is none. */
    width: count.nullable(),
    height: count.nullable(),
    events: count,
    chunks: z.array(RecordingChunk),
  })
  .openapi("Recording");
export type Recording = z.infer<typeof Recording>;

/** GET /jobs/{id}/recording/events. */
export const RecordingEvents = z
  .object({
    items: z.array(z.intersection(RecordingEvent, z.object({ at_ms: count }))),
    /** Whether there are events after the last of these. */
    more: z.boolean(),
  })
  .openapi("RecordingEvents");
export type RecordingEvents = z.infer<typeof RecordingEvents>;
