import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { encodeJsonFrame, FRAME } from "#shared/recording/frames.ts";
import type { Mask } from "#shared/recording/masks.ts";
import {
  MAX_REQUEST_BYTES,
  MOST_REQUEST_BYTES,
  MOST_REQUESTS,
  type RequestNote,
} from "#shared/recording/requests.ts";
import type { CdpConnection, CdpSession } from "../cdp/connection.ts";
import { harEntry } from "../record/har.ts";
import { keepNoted } from "../record/header-budget.ts";
import { createChains } from "../record/trace-chains.ts";
import type { NetworkFacts, TraceEntry } from "../record/trace-entry.ts";
import { followRequests } from "../record/trace-events.ts";
import type { BodyNote, EndedRequest, SessionBodies } from "./session-bodies.ts";

/** Requests under way that are followed; the oldest makes room, and stays noted as one without an end. */
const MOST_OPEN = 1_000;

interface NotedBrowser {
  connection: CdpConnection;
  product: string;
  facts: NetworkFacts | null;
}

/** Notes the requests of a session or a job in its recording (rules/recordings#requests). It only listens. */
export interface RequestNotes {
  /** What asks from now on. @returns the function that listens to a session of it whose network somebody watches. */
  follow(browser: NotedBrowser): (session: CdpSession) => void;
  /** Notes what is under way and was not noted yet, so that it is known of when nothing more is heard. */
  look(): void;
}

export interface RequestNotesDeps {
  ms(): number;
  write(frame: Uint8Array): void;
  /** Nothing more is written of the run. */
  isOver(): boolean;
  /** A sentence for people, in the recording itself. */
  note(text: string): void;
  mask: Mask;
  /** Without headers: a job's HAR has them in the end, and what is noted until then is to be small. */
  brief: boolean;
  /** Keeps the bodies of what is answered; null: that is not asked for. */
  bodies: SessionBodies | null;
  log: Log;
}

type Follow = ReturnType<typeof followRequests>;

interface Open {
  n: number;
  at_ms: number;
  /** How much of it was noted: nothing, that it was sent, or what was answered. */
  noted: "no" | "sent" | "answered";
}

export function createRequestNotes(deps: RequestNotesDeps): RequestNotes {
  const { ms } = deps;
  const open = new Map<TraceEntry, Open>();
  const writer = createWriter(deps);
  let followed: { connection: CdpConnection; follow: Follow } | null = null;
  let count = 0;

  const begin = (entry: TraceEntry): boolean => {
    if (deps.isOver() || !writer.takes()) return false;
    count += 1;
    open.set(entry, { n: count, at_ms: Math.floor(ms()), noted: "no" });
    return true;
  };
  /** `from`: where its body can be read; absent where nobody has it any more. */
  const over = (entry: TraceEntry, from?: Omit<EndedRequest, "entry">) => {
    const known = open.get(entry);
    open.delete(entry);
    if (!known || deps.isOver()) return;
    let is_noted = false;
    if (from && entry.error === null)
      deps.bodies?.take({ ...from, entry }, (body) => {
        is_noted = true;
        // What comes later is another note of the same request.
        if (!deps.isOver()) writer.write(entry, { ...known, noted: "answered" }, body);
      });
    if (!is_noted) writer.write(entry, known);
  };
  const newBrowser = ({ product, facts }: NotedBrowser): Follow => {
    writer.tell({ browser: product.slice(0, 200) });
    // Nothing more is heard of what the last one asked for.
    for (const entry of [...open.keys()]) over(entry);
    const chains = createChains(MOST_OPEN, ({ hops }) => {
      for (const { entry } of hops) over(entry);
    });
    return followRequests({
      chains,
      keep: deps.brief ? () => ({}) : keepNoted,
      facts,
      begin,
      over: ({ hops }, from) => {
        for (const { entry } of hops) over(entry, entry === hops.at(-1)?.entry ? from : undefined);
      },
    });
  };
  return {
    follow: (browser) => {
      const { connection } = browser;
      // A session goes on with its browser, over new sessions of CDP, when a job that ran in it is over.
      if (followed?.connection !== connection)
        followed = { connection, follow: newBrowser(browser) };
      return listenOnce(followed.follow);
    },
    look: () => {
      for (const [entry, known] of open) {
        const now = entry.response === null ? "sent" : "answered";
        if (known.noted !== now) writer.write(entry, known);
        known.noted = now;
      }
      writer.tellDropped();
    },
  };
}

/** A recorder attaches a second session to each target, which reports the same requests. */
function listenOnce(follow: Follow): (session: CdpSession) => void {
  const listened = new Map<string, CdpSession>();
  return (session) => {
    const target_id = session.target?.targetId ?? "";
    if (listened.has(target_id)) return;
    listened.set(target_id, session);
    void session.closed.then(() => listened.delete(target_id));
    follow({ session, page: pageOf(session) });
  };
}

/** The tab that a frame or a worker belongs to; null where it belongs to none. */
function pageOf(session: CdpSession | null): { target_id: string; url: string } | null {
  if (!session) return null;
  const { target } = session;
  return target?.type === "page"
    ? { target_id: target.targetId, url: target.url }
    : pageOf(session.parent);
}

/** Writes notes until a bound is reached, and counts what it leaves out. */
function createWriter({ ms, write, note, mask, log }: RequestNotesDeps) {
  let requests = 0;
  let bytes = 0;
  let dropped = 0;
  let told_dropped = 0;
  let failed = false;
  const put = (of: RequestNote) => {
    const frame = encodeJsonFrame(FRAME.request, ms(), of);
    bytes += frame.length;
    write(frame);
  };
  const leaveOut = () => {
    if (dropped === 0) note("the limit of requests is reached: the ones that follow are left out");
    dropped += 1;
  };
  return {
    takes: (): boolean => {
      const takes = requests < MOST_REQUESTS && bytes < MOST_REQUEST_BYTES;
      if (takes) requests += 1;
      else leaveOut();
      return takes;
    },
    tell: put,
    tellDropped: () => {
      if (dropped === told_dropped) return;
      told_dropped = dropped;
      put({ dropped });
    },
    write: (entry: TraceEntry, { n, at_ms, noted }: Open, body: BodyNote | null = null) => {
      // Of one that is noted already, its end alone is missing.
      if (bytes >= MOST_REQUEST_BYTES) return void (noted === "no" && leaveOut());
      try {
        put({ n, at_ms, har: withBody(fitted(entry, mask), body) } as RequestNote);
      } catch (err) {
        if (!failed) log.warn({ err: errorMessage(err) }, "a request cannot be noted");
        failed = true;
      }
    },
  };
}

function withBody(har: Record<string, unknown>, body: BodyNote | null) {
  const response = har.response as { content: object };
  return body === null
    ? har
    : { ...har, response: { ...response, content: { ...response.content, ...body } } };
}

const MAX_TEXT = 2_000;
const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** The request without secrets, and without what makes it too long. */
function fitted(entry: TraceEntry, mask: Mask): Record<string, unknown> {
  const frame = entry.frame_id === null ? {} : { _frameId: entry.frame_id };
  const asHar = (of: TraceEntry, more: object) =>
    mask.value({ ...harEntry(of, of.page_id, null), ...frame, ...more }) as Record<string, unknown>;
  const whole = asHar(entry, {});
  if (bytesOf(whole) <= MAX_REQUEST_BYTES) return whole;
  const { response } = entry;
  const bare = {
    ...entry,
    request_headers: {},
    response: response && { ...response, headers: {} },
  };
  const headless = asHar(bare, { _shortened: true });
  if (bytesOf(headless) <= MAX_REQUEST_BYTES) return headless;
  const cut = {
    ...bare,
    url: entry.url.slice(0, MAX_TEXT),
    redirect_url: entry.redirect_url.slice(0, MAX_TEXT),
    method: entry.method.slice(0, MAX_TEXT),
    response: bare.response && {
      ...bare.response,
      status_text: bare.response.status_text.slice(0, MAX_TEXT),
      mime: bare.response.mime.slice(0, MAX_TEXT),
    },
  };
  return asHar(cut, { _shortened: true });
}
