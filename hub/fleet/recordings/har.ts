import { streamOf } from "#shared/archive/streams.ts";
import { AppError } from "#shared/kit/errors.ts";
import type { HarEntry } from "#shared/protocol/schema/har.ts";
import { FRAME, framesOf, jsonOf } from "#shared/recording/frames.ts";
import { RequestNote } from "#shared/recording/requests.ts";
import { keptBodies } from "./bodies.ts";
import {
  type KnownRecording,
  piecesOf,
  recordingOfJob,
  recordingOfSession,
} from "./read-recordings.ts";
import { type RecordingsContext, requestsKey } from "./runs.ts";

const VERSION = "0.1";
/** How many notes are read, and entries written, before others are served. */
const AT_ONCE = 200;

type Noted = Extract<RequestNote, { n: number }>;

interface Requests {
  /** The last note of each, by its number. */
  by_n: Map<number, Noted>;
  /** e.g. `Chrome/156.0.8078.73`; null while it is not known. */
  browser: string | null;
  dropped: number;
  /** When the last of these was noted, in milliseconds since the run began. */
  ms: number;
}

/**
 * The requests of a session as HAR 1.2 (rules/recordings#requests): the last that is known of each.
 * @param after_ms only what was noted after this moment
 * @throws AppError not_found, with a sentence that says why there are none
 */
export async function sessionHar(
  ctx: RecordingsContext,
  session_id: string,
  after_ms: number,
): Promise<ReadableStream<Uint8Array>> {
  const recording = await recordingOfSession(ctx, session_id).catch((err) => {
    if (!(err instanceof AppError) || err.kind !== "not_found") throw err;
    throw none("nothing is recorded of this session, so its requests are not known");
  });
  const { job_id, contents } = recording.row;
  if (job_id !== null)
    throw none(`the session is job ${job_id}'s: GET /jobs/${job_id}/har.json has its requests`);
  if (!contents.requests) throw none("no requests were noted in the recording of this session");
  return harOf(ctx, recording, after_ms);
}

/**
 * The requests of a job's last run, as far as they were noted (rules/recordings#requests); null where none were. The HAR
 * that a job stores in the end says more.
 */
export async function notedHar(
  ctx: RecordingsContext,
  job_id: string,
): Promise<ReadableStream<Uint8Array> | null> {
  const recording = await recordingOfJob(ctx, job_id).catch((err) => {
    if (err instanceof AppError && err.kind === "not_found") return null;
    throw err;
  });
  return recording?.row.contents.requests ? harOf(ctx, recording, -1) : null;
}

async function harOf(
  ctx: RecordingsContext,
  recording: KnownRecording,
  after_ms: number,
): Promise<ReadableStream<Uint8Array>> {
  const requests = await readRequests(ctx, recording, after_ms);
  const is_over = recording.row.state !== "live";
  const kept = is_over ? await keptBodies(ctx, recording.row.run_id) : null;
  return streamOf(harText(requests, kept));
}

/** Once the session is over, a body that has not come will not come. */
function withTrueBody(har: HarEntry, kept: ReadonlySet<string> | null): HarEntry {
  const { _body, ...content } = har.response.content;
  if (kept === null || _body === undefined || kept.has(_body)) return har;
  const missing = { ...content, _body_missing: "it did not reach the hub" };
  return { ...har, response: { ...har.response, content: missing } };
}

const none = (why: string) => new AppError("not_found", why);

const giveWay = () => new Promise<void>((served) => setImmediate(served));

/** What is no note of this version is left out. */
async function readRequests(
  ctx: RecordingsContext,
  recording: KnownRecording,
  after_ms: number,
): Promise<Requests> {
  const found: Requests = { by_n: new Map(), browser: null, dropped: 0, ms: after_ms };
  let read = 0;
  for await (const bytes of piecesOf(ctx, recording, requestsKey))
    for (const frame of framesOf(bytes)) {
      if (frame.kind !== FRAME.request) continue;
      read += 1;
      if (read % AT_ONCE === 0) await giveWay();
      found.ms = Math.max(found.ms, frame.ms);
      const note = RequestNote.safeParse(jsonOf(frame)).data;
      if (!note) continue;
      if ("browser" in note) found.browser = note.browser;
      else if ("dropped" in note) found.dropped = note.dropped;
      else if (frame.ms > after_ms) found.by_n.set(note.n, note);
    }
  return found;
}

async function* harText(
  requests: Requests,
  kept: ReadonlySet<string> | null,
): AsyncGenerator<Uint8Array> {
  const { by_n, browser, dropped, ms } = requests;
  const noted = [...by_n.values()].sort((a, b) => a.n - b.n);
  const [name = "Chromium", version = ""] = browser?.split("/") ?? [];
  const head = {
    version: "1.2",
    creator: { name: "Flotilla", version: VERSION },
    browser: { name, version },
    pages: pagesOf(noted.map(({ har }) => har)),
    ...(dropped > 0 ? { _dropped: dropped } : {}),
    _ms: ms,
  };
  yield Buffer.from(`{"log":${JSON.stringify(head).slice(0, -1)},"entries":[`);
  for (let at = 0; at < noted.length; at += AT_ONCE) {
    const texts = noted
      .slice(at, at + AT_ONCE)
      .map(({ n, at_ms, har }) =>
        JSON.stringify({ ...withTrueBody(har, kept), _n: n, _at_ms: at_ms }),
      );
    yield Buffer.from((at === 0 ? "" : ",") + texts.join(","));
    await giveWay();
  }
  yield Buffer.from("]}}");
}

/** The tabs of the session, each from its first request on. */
function pagesOf(entries: readonly HarEntry[]) {
  const first = new Map<string, HarEntry>();
  for (const entry of entries) {
    const { pageref } = entry;
    if (typeof pageref === "string" && !first.has(pageref)) first.set(pageref, entry);
  }
  return [...first].map(([id, { startedDateTime, request }]) => ({
    startedDateTime,
    id,
    title: request.url,
    pageTimings: { onContentLoad: -1, onLoad: -1 },
  }));
}
