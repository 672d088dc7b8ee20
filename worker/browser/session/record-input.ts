import { windUpWithin } from "#shared/kit/call-within.ts";
import { type Clock, withDeadline } from "#shared/kit/clock.ts";
import {
  type RecordedInput,
  RecordedInputCall,
  RecordInput,
} from "#shared/protocol/schema/recorded-input.ts";
import { ActionFailure, refused } from "../actions/failure.ts";
import { type Asked, programStep } from "../clicks/program-step.ts";
import { type ClickRecorder, startClickRecorder } from "../clicks/recorder.ts";
import type { Live } from "./live.ts";
import { pick } from "./pick.ts";

/** The last recording of each session, also after it was stopped. */
const recorders = new WeakMap<Live, ClickRecorder>();
/** Beginnings and ends, one after the other: two callers never begin two recordings. */
const turns = new WeakMap<Live, Promise<unknown>>();

const NOTHING: RecordedInput = { on: false, revision: 0, steps: [], full: false, ended: null };
/** POST /sessions/{sid}/record-input (rules/recorded-input): a new recording, or the end of the one that goes on. */
export function recordInput(
  live: Live,
  { args }: { args: Record<string, unknown> },
): Promise<RecordedInput> {
  const { on } = RecordInput.parse(args);
  const turn = (turns.get(live) ?? Promise.resolve()).then(() => turnRecording(live, on));
  turns.set(
    live,
    turn.catch(() => {}),
  );
  return turn;
}

async function turnRecording(live: Live, on: boolean): Promise<RecordedInput> {
  const before = recorders.get(live);
  if (before?.state().on === on || (!before && !on)) return before?.state() ?? NOTHING;
  if (!on) {
    await before?.stop(null);
    return before?.state() ?? NOTHING;
  }
  if (live.foreign)
    throw new ActionFailure("invalid", { name: "Error", message: "it is somebody else's browser" });
  const browser = live.browser();
  if (!browser) throw refused("the session has no browser yet");
  const recorder = await startClickRecorder(browser.cdp_url, live.activeTarget());
  recorders.set(live, recorder);
  const over = () => void recorder.stop("the session has ended");
  // It may have ended while the recorder began to listen.
  if (live.signal.aborted) over();
  else live.signal.addEventListener("abort", over, { once: true });
  return recorder.state();
}

/** GET /sessions/{sid}/record-input; with `wait_ms` once there is more than `revision`. */
export async function recordedInput(
  live: Live,
  { args }: { args: Record<string, unknown> },
  { clock }: { clock: Clock },
): Promise<RecordedInput> {
  const { revision, wait_ms } = RecordedInputCall.parse(args);
  const recorder = recorders.get(live);
  if (!recorder) return NOTHING;
  const limit = { what: "recorded input", ms: wait_ms, signal: live.signal };
  if (wait_ms > 0) await windUpWithin(clock, limit, (signal) => recorder.beyond(revision, signal));
  return recorder.state();
}

const LOOK_MS = 3_000;
/** Many steps of somebody who has written them down already. */
const UNHEARD = new Set(["recipe", "agent", "run_reset"]);

/** Does an action, and records it where no page tells of it: what a program sets is no input of a person. */
export async function recordedToo<T>(live: Live, asked: Asked, work: () => Promise<T>): Promise<T> {
  const recorder = recorders.get(live);
  if (!recorder?.state().on) return work();
  // A tab that the last action opened: what is done in it now counts already.
  await recorder.ready();
  if (UNHEARD.has(asked.action)) return recorder.unheard(work);
  const target_id = live.activeTarget();
  const make = programStep(asked);
  if (make === null || target_id === null) return work();
  const { selector, frame } = asked.args;
  const look = pick(live, { args: { selector, frame }, timeout_ms: LOOK_MS });
  const seen = await withDeadline("the element", LOOK_MS, look).catch(() => null);
  const result = await recorder.unheard(work);
  const { text } = asked.args;
  if (seen?.element && typeof text === "string" && text !== "" && (await recorder.isSecret(text)))
    seen.element.secret = true;
  recorder.add(target_id, (place) => make(seen, place));
  return result;
}
