import type { RecordingRow } from "#hub/platform/db/rows.ts";
import { streamOf } from "#shared/archive/streams.ts";
import { isoTime } from "#shared/kit/clock.ts";
import { notFound } from "#shared/kit/errors.ts";
import { RecordingEvent, type TimedEvent } from "#shared/recording/events.ts";
import { FRAME, framesOf, jsonOf } from "#shared/recording/frames.ts";
import type { Recording, RecordingEvents } from "#shared/recording/record.ts";
import { readPart } from "./open-parts.ts";
import { eventsKey, partKey, placesOf, type RecordingsContext } from "./runs.ts";

/** A recording as this hub knows it now: its sealed parts, and what lies here beyond them. */
export interface KnownRecording {
  row: RecordingRow;
  /** Bytes that can be read. */
  bytes: number;
}

/** The recording of a job's last run. @throws AppError not_found */
export async function recordingOfJob(
  ctx: RecordingsContext,
  job_id: string,
): Promise<KnownRecording> {
  const [row] = await ctx.db.recordings.ofJob(job_id);
  return known(ctx, row);
}

/** The recording of a session; for a job's session that of its job. @throws AppError not_found */
export async function recordingOfSession(
  ctx: RecordingsContext,
  session_id: string,
): Promise<KnownRecording> {
  const rows = await ctx.db.recordings.ofSession(session_id);
  return known(ctx, rows.find(({ job_id }) => job_id === null) ?? rows[0]);
}

function known(ctx: RecordingsContext, row: RecordingRow | undefined): KnownRecording {
  if (!row) throw notFound("recording");
  const part = ctx.recordings.by_run.get(row.run_id);
  if (!part) return { row, bytes: row.sealed };
  const { contents, parts, base } = part;
  return { row: { ...row, contents, parts, sealed: base }, bytes: base + part.bytes };
}

export function recordingRecord({ row, bytes }: KnownRecording): Recording {
  const { ms, events, requests = 0, chunks, end } = row.contents;
  const last = chunks.at(-1);
  return {
    state: row.state,
    mode: row.mode,
    job_id: row.job_id,
    session_id: row.session_id,
    started_at: isoTime(row.started_at),
    ended_at: row.ended_at === null ? null : isoTime(row.ended_at),
    end_reason: end,
    ms,
    bytes,
    width: last?.width ?? null,
    height: last?.height ?? null,
    events,
    requests,
    chunks,
  };
}

/** What lay here beyond the sealed parts. What was sealed since is read from where it is now. */
function openBytes(
  ctx: RecordingsContext,
  { row: { run_id, sealed }, bytes }: KnownRecording,
): Promise<Uint8Array> {
  const { by_run, inTurn } = ctx.recordings;
  return inTurn(run_id, async () => {
    const part = by_run.get(run_id);
    if (part?.base === sealed) return readPart(ctx.recordings, part);
    if (bytes === sealed) return new Uint8Array(0);
    const now = await ctx.db.recordings.get(run_id);
    const to = now?.parts.find((end) => end > sealed);
    const body = to && (await ctx.objects.read(partKey({ run_id, from: sealed, to })));
    return body ? new Uint8Array(await new Response(body).arrayBuffer()) : new Uint8Array(0);
  });
}

/** The bytes `start..end`, both included; what is deleted meanwhile breaks the stream off. */
export async function readRecording(
  ctx: RecordingsContext,
  recording: KnownRecording,
  { start, end }: { start: number; end: number },
): Promise<ReadableStream<Uint8Array>> {
  const { run_id, parts, sealed } = recording.row;
  const tail = end >= sealed ? await openBytes(ctx, recording) : new Uint8Array(0);
  async function* bytes() {
    for (const place of placesOf(run_id, parts)) {
      if (place.to <= start || place.from > end) continue;
      const range = {
        start: Math.max(start, place.from) - place.from,
        end: Math.min(end + 1, place.to) - place.from - 1,
      };
      const body = await ctx.objects.read(partKey(place), range);
      if (!body) throw new Error(`a part of recording ${run_id} is gone`);
      yield* body;
    }
    if (end >= sealed) yield tail.subarray(Math.max(0, start - sealed), end + 1 - sealed);
  }
  return streamOf(bytes());
}

/** How many events one answer has, and of how many bytes, unless more than these happened at one moment. */
const EVENTS_AT_ONCE = 5_000;
const BYTES_AT_ONCE = 4 * 1024 * 1024;

/** The events after this moment, in the order in which they were written. What is no event of this version is left out. */
export async function readEvents(
  ctx: RecordingsContext,
  recording: KnownRecording,
  after_ms: number,
): Promise<RecordingEvents> {
  const items: TimedEvent[] = [];
  let read = 0;
  for await (const bytes of piecesOf(ctx, recording, eventsKey))
    for (const frame of framesOf(bytes)) {
      if (frame.kind !== FRAME.event || frame.ms <= after_ms) continue;
      const is_full = items.length >= EVENTS_AT_ONCE || read >= BYTES_AT_ONCE;
      if (is_full && frame.ms > (items.at(-1)?.at_ms ?? 0)) return { items, more: true };
      read += frame.length;
      const event = RecordingEvent.safeParse(jsonOf(frame));
      if (event.success) items.push({ ...event.data, at_ms: frame.ms });
    }
  return { items, more: false };
}

/** Frames of each part, with all of those that stand in the object of `keyOf`. */
export async function* piecesOf(
  ctx: RecordingsContext,
  recording: KnownRecording,
  keyOf: typeof eventsKey,
): AsyncGenerator<Uint8Array> {
  const { run_id, parts } = recording.row;
  const open = await openBytes(ctx, recording);
  for (const place of placesOf(run_id, parts)) {
    const body = await ctx.objects.read(keyOf(place));
    if (body) yield new Uint8Array(await new Response(body).arrayBuffer());
  }
  yield open;
}
