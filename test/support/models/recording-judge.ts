import type { Recording } from "#shared/recording/record.ts";
import { drawUpdates } from "../clients/rfb-decoder.ts";

/**
 * A strict reader of recordings, written from rules/recordings#the-file and from nothing of the product: what it finds
 * wrong is wrong in the file, in its index, or in the rules.
 */

/** What `GET …/recording`, `…/recording/data` and `…/recording/events` answered. */
export interface Served {
  record: Recording;
  bytes: Buffer;
  events: ({ at_ms: number } & Record<string, unknown>)[];
}

export interface Judged {
  faults: string[];
  /** When the run began and when the last frame was written, by the clock of the worker (ms). */
  began_at: number;
  last_at: number;
  /** Chunks that were drawn, and updates of the screen in frames. */
  chunks: number;
  pictures: number;
}

const KIND = { event: 1, chunk: 2, rfb: 3, end: 4, request: 5 };
const HEAD = 9;
const LONGEST_FRAME = 4 * 1024 * 1024;
const LONGEST_EVENT = 16 * 1024;
const LONGEST_NOTE = 64 * 1024;
const TYPES = new Set(
  "start hears stage navigation action step viewer cdp input tab dialog download console error request_failed note".split(
    " ",
  ),
);

interface ReadFrame {
  kind: number;
  ms: number;
  payload: Buffer;
  offset: number;
  length: number;
}
interface ReadChunk {
  at_ms: number;
  offset: number;
  width: number;
  height: number;
  rfb: Buffer[];
}

function readFrames(bytes: Buffer, faults: string[]): ReadFrame[] {
  const frames: ReadFrame[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.length - at < HEAD ? HEAD : 4 + bytes.readUInt32BE(at);
    if (length < HEAD || length > LONGEST_FRAME) faults.push(`byte ${at} begins no frame`);
    else if (at + length > bytes.length) faults.push(`the frame at byte ${at} is torn`);
    else {
      const payload = bytes.subarray(at + HEAD, at + length);
      const frame = { kind: bytes[at + 4] ?? 0, ms: bytes.readUInt32BE(at + 5), payload };
      frames.push({ ...frame, offset: at, length });
      at += length;
      continue;
    }
    break;
  }
  return frames;
}

const jsonIn = ({ payload, offset }: ReadFrame, faults: string[]): Record<string, unknown> => {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(payload));
  } catch {
    faults.push(`the frame at byte ${offset} is no JSON`);
    return {};
  }
};

/** A note of a request says which, when and what; others say which browser it was, or how many were left out. */
function judgeNote(frame: ReadFrame, faults: string[]): void {
  const { n, at_ms, har, ...other } = jsonIn(frame, faults);
  const says = har === undefined ? "browser" in other || "dropped" in other : Number.isInteger(n);
  const in_time = har === undefined || (typeof at_ms === "number" && at_ms <= frame.ms);
  if (!says || !in_time || frame.payload.length > LONGEST_NOTE)
    faults.push(`the note at byte ${frame.offset} is none`);
}

/** Its kinds, in their order: a start, chunks before pictures, and nothing after the end. */
function readAll(frames: ReadFrame[], faults: string[]) {
  const events: Served["events"] = [];
  const chunks: ReadChunk[] = [];
  const ends: unknown[] = [];
  let ms = 0;
  for (const frame of frames) {
    if (frame.ms < ms) faults.push(`time goes back from ${ms} to ${frame.ms} ms`);
    ms = frame.ms;
    if (ends.length > 0) faults.push(`a frame of kind ${frame.kind} follows the end`);
    if (frame.kind === KIND.event) {
      if (frame.payload.length > LONGEST_EVENT) faults.push(`${frame.payload.length} bytes event`);
      events.push({ ...jsonIn(frame, faults), at_ms: frame.ms });
    } else if (frame.kind === KIND.chunk) {
      const { width, height, name, why } = jsonIn(frame, faults);
      if (typeof name !== "string" || typeof why !== "string") faults.push("a chunk without words");
      const size = { width: Number(width), height: Number(height) };
      chunks.push({ at_ms: frame.ms, offset: frame.offset, ...size, rfb: [] });
    } else if (frame.kind === KIND.rfb) {
      const chunk = chunks.at(-1);
      if (chunk) chunk.rfb.push(frame.payload);
      else faults.push("a picture before the first chunk");
    } else if (frame.kind === KIND.request) judgeNote(frame, faults);
    else if (frame.kind === KIND.end) ends.push(jsonIn(frame, faults).why);
    else faults.push(`kind ${frame.kind}`);
  }
  for (const { type } of events) if (!TYPES.has(String(type))) faults.push(`an event ${type}`);
  if (events[0]?.type !== "start" || frames[0]?.kind !== KIND.event)
    faults.push("the first frame is no start");
  return { events, chunks, ends, ms };
}

function differ(what: string, told: unknown, is: unknown, faults: string[]): void {
  if (!Bun.deepEquals(told, is))
    faults.push(`${what}: told ${JSON.stringify(told)}, it is ${JSON.stringify(is)}`);
}

/** Every chunk alone. Only the last one of a recording that was cut off may lack its picture, or the rest of one. */
async function drawChunks(chunks: ReadChunk[], torn: boolean, faults: string[]): Promise<void> {
  for (const [i, { rfb, width, height, at_ms }] of chunks.entries()) {
    const last = torn && i === chunks.length - 1;
    if (last && rfb.length === 0) continue;
    const of = `the chunk at ${at_ms} ms`;
    try {
      const screen = await drawUpdates(Buffer.concat(rfb), { width, height, torn: last });
      if (screen.drawn() < 1 && !screen.torn)
        faults.push(`${of} draws ${(screen.drawn() * 100).toFixed(1)} % of the screen`);
    } catch (err) {
      faults.push(`${of} cannot be drawn: ${err}`);
    }
  }
}

/** @param live_is_lost a recording whose run was lost may still be `live`: the hub waits before it calls it `cut`. */
export async function judgeRecording(
  { record, bytes, events: served }: Served,
  { live_is_lost = false } = {},
): Promise<Judged> {
  const faults: string[] = [];
  const frames = readFrames(bytes, faults);
  const { events, chunks, ends, ms } = readAll(frames, faults);
  const state = live_is_lost && record.state === "live" ? "cut" : record.state;
  if (state !== "whole" && state !== "cut") faults.push(`its state is ${record.state}`);
  if (state === "whole" && ends.length !== 1) faults.push(`whole, with ${ends.length} ends`);
  if (state === "cut" && ends.length > 0) faults.push("cut, with an end");
  const ended = record.ended_at !== null;
  if (record.state !== "live" && !ended) faults.push("it has ended at no time");
  differ("bytes", record.bytes, bytes.length, faults);
  differ("ms", record.ms, ms, faults);
  differ("events", record.events, events.length, faults);
  differ("end_reason", record.end_reason, ends[0] ?? null, faults);
  differ("width", record.width, chunks.at(-1)?.width ?? null, faults);
  differ("height", record.height, chunks.at(-1)?.height ?? null, faults);
  const places = chunks.map(({ at_ms, offset, width, height }, i) => {
    const next = chunks[i + 1];
    const length = (next?.offset ?? bytes.length) - offset;
    return { at_ms, ms: (next?.at_ms ?? ms) - at_ms, offset, length, width, height };
  });
  differ("chunks", record.chunks, places, faults);
  differ("the list of events", served, events, faults);
  await drawChunks(chunks, state === "cut", faults);
  const began_at = Date.parse(String(events[0]?.at));
  if (Number.isNaN(began_at)) faults.push("the start has no time");
  const pictures = chunks.reduce((sum, { rfb }) => sum + rfb.length, 0);
  return { faults, began_at, last_at: began_at + ms, chunks: chunks.length, pictures };
}
