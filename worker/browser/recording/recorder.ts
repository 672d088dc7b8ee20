import type { Socket } from "node:net";
import { join } from "node:path";
import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { type Loop, startLoop } from "#shared/kit/loop.ts";
import type { RecordMode } from "#shared/protocol/schema/record-mode.ts";
import type { RecordingEvent } from "#shared/recording/events.ts";
import { encodeJsonFrame, FRAME } from "#shared/recording/frames.ts";
import type { Mask } from "#shared/recording/masks.ts";
import { putPiece, type RecordingPlace } from "#worker/upload/recording-tail.ts";
import type { LaneBrowser } from "../lanes/lane-browser.ts";
import { recordCast } from "./cast-source.ts";
import { createEventBudgets } from "./event-budget.ts";
import { createEventWriter } from "./event-writer.ts";
import { createLooks, type Looked } from "./looks.ts";
import { createRequestNotes, type RequestNotes } from "./request-notes.ts";
import { createRunFile, type RunFile } from "./run-file.ts";
import { createScreenSink, type ScreenSink } from "./screen-sink.ts";
import { createSessionBodies, type SessionBodies } from "./session-bodies.ts";
import { recordVnc } from "./vnc-source.ts";

/** How often the session is looked at, and how often what is new goes to the hub. */
const LOOK_MS = 500;
const SEND_MS = 1_000;
/** A page is about to be opened: the first picture of a lane that was just given out is worth nothing. */
const SCREEN_AFTER_MS = 250;
/** How long to wait before a screen that was lost is looked for again, and how often. */
const AGAIN_MS = 1_000;
const MOST_LOST = 20;
/** How long the last frames of a run may take to the hub. */
const LAST_MS = 15_000;
/** Bounds of one recording (rules/recordings#limits-of-a-recording). */
const MOST_SCREEN_BYTES = 200 * 1024 * 1024;
const LONGEST_MS = 4 * 3_600_000;

/** A session as its recorder sees it. */
interface Recorded extends Looked {
  browser(): LaneBrowser | null;
  /** The browser is somebody else's. */
  readonly foreign: boolean;
  /** What nothing of it may show. */
  readonly mask: Mask;
}

export interface RecorderDeps {
  /** Where recordings lie until the hub has them. */
  dir: string;
  place: RecordingPlace;
  mode: Exclude<RecordMode, "off">;
  /** Keep the bodies of a session. */
  capture: boolean;
  /** Kinds of events that cannot be heard in this run. */
  unheard: string[];
  live: Recorded;
  headless: boolean;
  dialVnc(): Promise<Socket>;
  clock: Clock;
  log: Log;
}

/** The recorder of one run. Nothing that it does fails or slows the run. */
export interface RunRecorder {
  tell(event: RecordingEvent): void;
  /** Notes the requests of its browser. */
  readonly requests: RequestNotes;
  /** The bodies that its pages receive; null where they are not kept. The session closes them before it gives its lane back. */
  readonly bodies: SessionBodies | null;
  /** Resolves when the hub has the beginning, or the recording has ended: from then on it takes the rest, also after the run. */
  readonly begun: Promise<void>;
  /** Ends the recording and sends the rest. Idempotent, and never rejects. */
  end(why: string): Promise<void>;
}

export function startRecorder(deps: RecorderDeps): RunRecorder {
  const { clock, place, live, mode } = deps;
  const { mask } = live;
  const began = clock.monotonic();
  const ms = () => clock.monotonic() - began;
  const run = place.job_id === null ? place.session_id : `${place.job_id}-${place.lease_token()}`;
  const file = createRunFile(join(deps.dir, run));
  const over = new AbortController();
  let ended: Promise<void> | null = null;
  let refused = false;

  // What nobody takes would stay in memory.
  const isOver = () => ended !== null || refused;
  const { write } = file;
  const { tell, note, budgets } = createTeller({ ms, mask, write, isOver });
  const sender = createSender(deps, file, (reason) => {
    refused = true;
    over.abort();
    deps.log.info({ run, reason }, "recording ended: nothing more of it can be sent");
  });
  const { begun } = sender;
  const bodies = deps.capture
    ? createSessionBodies({ place, begun, clock, dir: `${file.path}.bodies`, log: deps.log })
    : null;
  const requests = createRequestNotes({
    ms,
    mask,
    write,
    isOver,
    note,
    brief: place.job_id !== null,
    bodies,
    log: deps.log,
  });

  tell(startOf(deps));
  const { look, showed } = createLooks(live, tell);
  const loop = (name: string, everyMs: number, pass: () => Promise<void>): Loop =>
    startLoop({ name, everyMs, clock, log: deps.log, pass });
  const loops = [
    loop("recording looks", LOOK_MS, async () => {
      look();
      budgets.tellDropped();
    }),
    loop("recording tail", SEND_MS, async () => {
      requests.look();
      await sender.pass();
    }),
  ];
  if (mode === "screen") void recordScreen(deps, { file, ms, note, over: over.signal });

  const finish = async (why: string) => {
    over.abort();
    look();
    budgets.end();
    file.write(encodeJsonFrame(FRAME.end, ms(), { why }));
    await Promise.all(loops.map((each) => each.stop()));
    await sender.sendRest();
  };
  return {
    tell: (event) => (event.type === "navigation" ? showed(event) : tell(event)),
    requests,
    bodies,
    begun,
    end: (why) => {
      if (ended === null) requests.look();
      ended ??= finish(why)
        .catch((err) =>
          deps.log.warn({ run, err: errorMessage(err) }, "the end of a recording was not sent"),
        )
        .then(() => file.remove());
      return ended;
    },
  };
}

function startOf({ clock, place, mode, headless, unheard }: RecorderDeps): RecordingEvent {
  const { job_id, session_id } = place;
  const at = new Date(clock.now()).toISOString();
  const of = job_id === null ? "session" : "job";
  const screen = headless ? "headless" : "headful";
  return { type: "start", at, of, id: job_id ?? session_id, mode, screen, unheard };
}

interface TellerDeps {
  ms(): number;
  mask: Mask;
  write(frame: Uint8Array): void;
  isOver(): boolean;
}

/** Writes events up to their limits, and notes of the recorder's own. */
function createTeller({ ms, mask, write, isOver }: TellerDeps) {
  const fit = createEventWriter(mask);
  const note = (text: string) =>
    write(encodeJsonFrame(FRAME.event, ms(), { type: "note", level: "warn", text }));
  const budgets = createEventBudgets({ ms, note });
  const tell = (event: RecordingEvent) => {
    const { type } = event;
    if (isOver() || !budgets.takes(type)) return;
    const frame = encodeJsonFrame(FRAME.event, ms(), fit(event));
    if (budgets.spends(type, frame.length)) write(frame);
  };
  return { tell, note, budgets };
}

/** Sends what the hub does not have. The hub's length is the truth. */
function createSender(deps: RecorderDeps, file: RunFile, onOver: (reason: string) => void) {
  const begun = Promise.withResolvers<void>();
  let sent = 0;
  let refused = false;
  const refuse = (reason: string): false => {
    refused = true;
    begun.resolve();
    onOver(reason);
    return false;
  };
  const take = async (): Promise<boolean> => {
    // Frames that a full disk has torn cannot be read again.
    const piece = await file.read(sent).catch(errorMessage);
    if (typeof piece === "string") return refuse(piece);
    if (piece.length === 0) return false;
    const answer = await putPiece(deps.clock, deps.place, sent, piece);
    if (answer.kind === "later") return false;
    begun.resolve();
    const is_ahead = answer.kind === "length" && answer.length > file.bytes;
    if (answer.kind === "over") return refuse(answer.reason);
    if (is_ahead) return refuse("the hub has more of it");
    sent = answer.length;
    return true;
  };
  const isBehind = () => !refused && sent < file.bytes;
  const pass = async () => {
    while (!refused && (await take()));
  };
  const sendRest = async () => {
    const { clock } = deps;
    const until = clock.monotonic() + LAST_MS;
    while (isBehind() && clock.monotonic() < until) {
      await pass();
      if (isBehind()) await clock.sleep(AGAIN_MS / 4);
    }
  };
  return { begun: begun.promise, pass, sendRest };
}

interface ScreenDeps {
  file: RunFile;
  ms(): number;
  note(text: string): void;
  over: AbortSignal;
}

/** Records the screen of whatever browser the run has, until the run is over or a limit is reached. Never rejects. */
async function recordScreen(deps: RecorderDeps, run: ScreenDeps): Promise<void> {
  const { clock, live } = deps;
  const full = new AbortController();
  const { signal } = full;
  run.over.addEventListener("abort", () => full.abort(), { once: true });
  let bytes = 0;
  const sink = createScreenSink({
    ms: run.ms,
    write: (frame) => {
      if (signal.aborted) return;
      bytes += frame.length;
      run.file.write(frame);
      if (bytes < MOST_SCREEN_BYTES && run.ms() < LONGEST_MS) return;
      run.note("the limit of the screen's recording is reached");
      full.abort();
    },
  });
  await clock.sleep(SCREEN_AFTER_MS, signal);
  for (let lost = 0; !signal.aborted && lost < MOST_LOST; ) {
    const browser = live.browser();
    const bytes_before = bytes;
    // Its owner records it, or not.
    if (live.foreign) return;
    try {
      if (browser?.headless) await castOf(deps, browser, sink, signal);
      else if (browser) await recordVnc({ dial: deps.dialVnc, sink, clock, signal });
    } catch (err) {
      deps.log.debug({ err: errorMessage(err) }, "the screen cannot be recorded now");
    }
    if (browser) lost = bytes > bytes_before ? 0 : lost + 1;
    await clock.sleep(AGAIN_MS / (browser ? 1 : 10), signal);
  }
  if (!signal.aborted) run.note("the screen cannot be recorded");
}

const castOf = (
  { live, clock }: RecorderDeps,
  { cdp_url }: LaneBrowser,
  sink: ScreenSink,
  signal: AbortSignal,
): Promise<void> =>
  recordCast({ cdp_url, activeTarget: () => live.activeTarget(), sink, clock, signal });
