import { z } from "@hono/zod-openapi";
import { NextCursor } from "#shared/protocol/schema/page.ts";
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
    /** How often something was noted of requests: it grows while there is something to read on. */
    requests: count,
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

export const VideoFormat = z.enum(["mp4", "webm"]);
export type VideoFormat = z.infer<typeof VideoFormat>;

/** POST /jobs/{id}/recording/exports (rules/recordings#export-as-a-video). */
export const ExportRecording = z
  .strictObject({
    format: VideoFormat.meta({ description: "H.264 in an MP4 file, or VP9 in a WebM file" }),
    speed: z
      .int()
      .min(1)
      .max(16)
      .default(1)
      .meta({ description: "How many times faster than the recording the video is" }),
  })
  .openapi("ExportRecording");

/** A video of a recording, on its way or made (rules/recordings#export-as-a-video). */
export const RecordingExport = z
  .object({
    id: z.string(),
    format: VideoFormat,
    speed: z.int(),
    status: z.enum(["queued", "running", "done", "failed"]),
    /** 0 to 1. */
    progress: z.number(),
    /** Why it failed. */
    error: z.string().nullable(),
    /** Of the video; null until it is done. */
    bytes: count.nullable(),
    created_at: z.string(),
  })
  .openapi("RecordingExport");
export type RecordingExport = z.infer<typeof RecordingExport>;

export const RecordingExports = z
  .object({ items: z.array(RecordingExport), ...NextCursor })
  .openapi("RecordingExports");
export type RecordingExports = z.infer<typeof RecordingExports>;
