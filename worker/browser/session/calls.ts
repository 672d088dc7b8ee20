import { windUpWithin } from "#shared/kit/call-within.ts";
import { type Clock, DeadlineError, withDeadline } from "#shared/kit/clock.ts";
import { MAX_INLINE_RESULT_BYTES } from "#shared/protocol/limits.ts";
import {
  type HubSessionCall,
  type SessionReply,
  TakeName,
} from "#shared/protocol/link/messages.ts";
import { SaveProfile } from "#shared/protocol/schema/session.ts";
import type { HubFiles } from "#worker/hub-files.ts";
import type { ActionContext, PageActions, WholeSessionAction } from "../actions/context.ts";
import { ActionFailure, failureOf, late, refused, timedOut } from "../actions/failure.ts";
import { stopLateLoads } from "../actions/loads.ts";
import { resultText } from "../actions/result-text.ts";
import { isAction, runAction } from "../actions/run-action.ts";
import { type PageSnapshot, pageSnapshot } from "../actions/snapshot.ts";
import { lookForTouched } from "../actions/touched.ts";
import { withTrueNetError } from "../fetch/net-errors.ts";
import type { Engines } from "../llm/engines.ts";
import { runOneShot } from "../one-shot/run.ts";
import { saveProfile } from "../profile/save.ts";
import { clearCookies, getCookies, putCookies } from "./cookies.ts";
import { answerDialog, listDialogs, unlessBlocked } from "./dialog-calls.ts";
import { askPage, runAgent } from "./engine-actions.ts";
import type { SessionLink } from "./link.ts";
import type { Live } from "./live.ts";
import { pick } from "./pick.ts";
import { previewOf } from "./preview.ts";
import { runSessionRecipe } from "./recipe.ts";
import { recordedInput, recordedToo, recordInput } from "./record-input.ts";
import { resetRun } from "./run-reset.ts";

export interface CallDeps {
  clock: Clock;
  /** Why this URL may not be opened, or null. */
  refusal(url: string): Promise<string | null>;
  /** Where a session's profiles are sent; the link that requests one receives it. */
  hubFiles(link: SessionLink): HubFiles;
  /** The engines that `ask` and `agent` call. */
  engines: Engines;
}

interface Call extends Pick<HubSessionCall, "action" | "args" | "timeout_ms"> {
  link: SessionLink;
}

type Answer = (
  live: Live,
  call: Call,
  deps: CallDeps,
  interrupted: Promise<never> | null,
) => Promise<unknown>;

/** Actions that need more than the active tab (rules/session-actions#the-actions). */
const WHOLE_SESSION: Record<WholeSessionAction, Answer> = {
  recipe: runSessionRecipe,
  pick,
  dialogs: async (live) => listDialogs(live),
  dialog: (live, { args }) => answerDialog(live, args),
  ask: async (live, call, deps) =>
    askPage(live, call, deps, await actingOn(live, call, deps, null)),
  agent: async (live, call, deps) =>
    runAgent(live, call, deps, await actingOn(live, call, deps, null)),
};

/** Those, and the hub's own operations. */
const OWN: Record<string, Answer> = {
  ...WHOLE_SESSION,
  state: async () => null,
  cookies_get: getCookies,
  cookies_put: putCookies,
  cookies_clear: clearCookies,
  network: async (live, { args }) => live.network.read(Number(args.since) || 0),
  files: async (live) => ({ files: live.files.listDownloads() }),
  preview: previewOf,
  snapshot: snapshotOf,
  profile_save: storeProfile,
  run_reset: resetRun,
  take_name: takeName,
  run_capture: keepCapture,
  record_input: recordInput,
  one_shot: oneShot,
};

/** A page that is opened, waited for and answered in one call. */
async function oneShot(...[live, call, deps, interrupted]: Parameters<Answer>): Promise<unknown> {
  return runOneShot(call.args, {
    acting: await actingOn(live, call, deps, interrupted),
    setCookies: (cookies) => putCookies(live, { args: { cookies } }),
    putBlob: live.files.putBlob,
  });
}

/** Chooses a name for a file that the hub's script saves, so that no captured body ever takes its place. */
async function takeName(live: Live, { args }: Call): Promise<{ name: string }> {
  const { name, mime } = TakeName.parse(args);
  return { name: live.script?.takeName(name, mime) ?? name };
}

/** Stores what the job of the session has captured by now, so that another lane can replay it. */
async function keepCapture({ script }: Live): Promise<null> {
  if (!script) throw refused("no script runs in the session");
  await script.keepCapture();
  return null;
}

const MAX_SNAPSHOT_CHARS = 20_000;

/** The active tab as a language model sees it: url, title, aria, links. `max_chars` limits `aria`. */
async function snapshotOf(live: Live, { args, timeout_ms }: Call): Promise<PageSnapshot> {
  const max_chars = Math.min(MAX_SNAPSHOT_CHARS, Number(args.max_chars) || MAX_SNAPSHOT_CHARS);
  return pageSnapshot((await live.pages()).active(), { max_chars, timeout_ms });
}

/** Body of POST /sessions/{sid}/profile/save. */
async function storeProfile(
  live: Live,
  { args, link, timeout_ms }: Call,
  deps: CallDeps,
): Promise<null> {
  const { name } = SaveProfile.parse(args);
  const limit = { what: "saving the profile", ms: timeout_ms, signal: live.signal };
  const hub = deps.hubFiles(link);
  let refused: Error | null = null;
  await windUpWithin(deps.clock, limit, (signal) =>
    live.replaceBrowser(async (browser) => {
      const saved = await saveProfile({
        session_id: live.session_id,
        name,
        hold: live.hold,
        browser,
        hub,
        timeout_ms,
        signal,
      });
      refused = saved.error;
      return saved.browser;
    }),
  );
  if (refused !== null) throw refused as Error;
  return null;
}

/** Many steps in one call: nobody can answer a dialog in between. */
const OF_MANY_STEPS: ReadonlySet<string> = new Set([
  "recipe",
  "agent",
  "run_reset",
  "profile_save",
  "one_shot",
]);

const onPage =
  (action: keyof PageActions): Answer =>
  async (live, call, deps, interrupted) =>
    runAction(await actingOn(live, call, deps, interrupted), action, call.args);

function runCall(live: Live, call: Call, deps: CallDeps): Promise<unknown> {
  const { action } = call;
  // It waits for what people do, and is no action of anybody.
  if (action === "recorded_input") return recordedInput(live, call, deps);
  const answer = OWN[action] ?? (isAction(action) ? onPage(action) : undefined);
  if (!answer)
    throw new ActionFailure("invalid", { name: "Error", message: `unknown action ${action}` });
  return live.dialogs.during(OF_MANY_STEPS.has(action) ? "alone" : "acting", () =>
    unlessBlocked(live, call, (interrupted) => answer(live, call, deps, interrupted)),
  );
}

const actingOn = async (
  live: Live,
  { timeout_ms }: Call,
  { clock, refusal }: CallDeps,
  interrupted: Promise<never> | null,
): Promise<Omit<ActionContext, "signal">> => ({
  pages: await live.pages(),
  clock,
  timeout_ms,
  interrupted,
  refusal,
  hide: live.mask.hide,
  takeInput: (name, content) => live.files.takeInput(name, content),
  pendingLoads: () => live.pendingLoads(),
  downloads: { list: live.files.listDownloads, open: live.files.openDownload },
});

/** Whether the hub may ask for it by this name. */
export const isKnownCall = (action: string): boolean =>
  isAction(action) || Object.hasOwn(OWN, action);

/** Applies the session's own egress rules, if its browser belongs to the worker. */
const refusalIn = (live: Live, { refusal }: CallDeps): CallDeps["refusal"] =>
  live.browser()?.gate ? (url) => live.judge().checkUrl(url) : refusal;

/** Added to the action's own deadline: what it waited for says more, and is to be stopped first. The hub waits 3 s longer. */
const GRACE_MS = 2_000;

/**
 * Answers one call of the hub, always and exactly once, within its deadline and a little more
 * (rules/session-actions#timeout-of-an-action).
 */
export async function answerCall(
  live: Live,
  link: SessionLink,
  message: HubSessionCall,
  deps: CallDeps,
): Promise<SessionReply> {
  const { action, args, by } = message;
  // The hub adds the values of placeholders.
  live.trace?.know(Object.values(args.secrets ?? {}));
  // What only reads the session says nothing of what happened in it.
  const is_told =
    live.recorders.size > 0 &&
    // A picker asks at every move of the pointer.
    action !== "pick" &&
    (isAction(action) || Object.hasOwn(WHOLE_SESSION, action));
  if (!is_told) return replyTo(live, link, message, deps);
  const touched = lookForTouched(live, args);
  const tab = live.activeTarget();
  const reply = await replyTo(live, link, message, deps);
  const { ok, ms, error } = reply;
  const box = touched();
  live.tell({
    type: "action",
    name: action,
    ...(isAction(action) && { arguments: args }),
    ms: Math.round(ms),
    outcome: ok ? "done" : "failed",
    ...(error && { error: error.message }),
    ...(box && { box }),
    ...(tab !== null && { tab }),
    ...(by !== undefined && { by }),
  });
  return reply;
}

async function replyTo(
  live: Live,
  link: SessionLink,
  message: HubSessionCall,
  deps: CallDeps,
): Promise<SessionReply> {
  const since = deps.clock.monotonic();
  const began = performance.now();
  const reply = (more: Partial<SessionReply>): SessionReply => ({
    type: "SessionReply",
    call_id: message.call_id,
    ok: true,
    result: null,
    blob: null,
    kind: null,
    error: null,
    place: null,
    ms: deps.clock.monotonic() - since,
    ...more,
  });
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const gone = () =>
    reject(new ActionFailure("gone", { name: "Error", message: "the session has ended" }));
  live.signal.addEventListener("abort", gone, { once: true });
  if (live.signal.aborted) gone();
  ended.catch(() => {});
  try {
    const work = withDeadline(
      message.action,
      message.timeout_ms + GRACE_MS,
      recordedToo(live, message, () =>
        runCall(live, { ...message, link }, { ...deps, refusal: refusalIn(live, deps) }),
      ),
      deps.clock,
    );
    const result = await Promise.race([work, ended]);
    const ms = deps.clock.monotonic() - since;
    const place = await live.place();
    const text = resultText(result);
    // Counted in characters first: most results are small, and bytes are at most three times as many.
    const large =
      text.length * 3 > MAX_INLINE_RESULT_BYTES &&
      Buffer.byteLength(text) > MAX_INLINE_RESULT_BYTES;
    if (!large) return reply({ result: result ?? null, place, ms });
    return reply({ blob: live.files.putBlob(text), place, ms });
  } catch (err) {
    const ms = deps.clock.monotonic() - since;
    const { kind, error } = await failed(live, message, began, err);
    const place = await live.place().catch(() => null);
    return reply({ ok: false, kind, error, place, ms });
  } finally {
    live.signal.removeEventListener("abort", gone);
  }
}

/** What an action threw, with the real cause of a failed connection. */
function truly(live: Live, err: unknown): ActionFailure {
  const failure = failureOf(err);
  const elsewhere = live.network.lastFailure()?.error ?? null;
  const message = withTrueNetError(failure.message, live.browser()?.gate ?? null, elsewhere);
  if (message === failure.message) return failure;
  return new ActionFailure(failure.kind, { ...failure.error, message });
}

/** Why a call failed. An action that ran out of time stops its own loads; those of all other calls are stopped here. */
async function failed(
  live: Live,
  { action, timeout_ms }: HubSessionCall,
  began: number,
  err: unknown,
): Promise<ActionFailure> {
  const failure = err instanceof DeadlineError ? late(action, timeout_ms) : truly(live, err);
  if (failure.kind !== "timeout" || isAction(action)) return failure;
  const why = await stopLateLoads(live.pendingLoads(), action, began);
  return why === null ? failure : timedOut(`${failure.error.message}; ${why}`);
}
