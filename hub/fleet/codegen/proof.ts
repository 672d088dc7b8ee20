import type { AttemptRow } from "#hub/platform/db/rows.ts";
import { SESSION_TTL_S } from "#shared/protocol/limits.ts";
import type { Proof, Verdict } from "#shared/protocol/schema/attempt.ts";
import { mergeBrowserOptions } from "#shared/protocol/schema/browser-options.ts";
import { CreateSession } from "#shared/protocol/schema/session.ts";
import { newAttempt } from "../jobs/rerun-source.ts";
import { freeCapacity } from "../links/lanes.ts";
import { hostForJob } from "../registries/hosts.ts";
import { profileForJob } from "../registries/profiles.ts";
import { endSession } from "../sessions/end.ts";
import type { HubSession } from "../sessions/hub-session.ts";
import { openSession } from "../sessions/open.ts";
import { touchSession } from "../sessions/registry.ts";
import { type JudgeScript, runJudged } from "./attempt.ts";
import { openAttemptDoor } from "./door.ts";
import { callOwn, type ScriptedJob, say } from "./job.ts";
import { resetPage } from "./reset-page.ts";
import { byRules } from "./verdict.ts";

/** How long a lane for the replay may take to become free. */
const LANE_WAIT_MS = 600_000;
/** Storing what the job has captured by now; bodies that are large take the most of it. */
const CAPTURE_MS = 120_000;
/** While this hub lives a replay that waits for an engine is not idle; one whose hub has died soon is. */
const KEEP_MS = 60_000;
/** Besides its script's own time: writing one, and judging it. */
const WRITING_S = 3_600;
const MOST_NAMED = 3;

/**
 * Where a loop proves its scripts (rules/scripts#proof-in-replay): in a replay of what the job has captured, or of the
 * capture that it names. Each script has a replay of its own, so that none finds what another has left, and its lane is
 * given back when the script is judged.
 */
export interface ProofInReplay {
  /** Whether the n-th script must be proved. */
  isDue(n: number): boolean;
  /** The page as a replay shows it, for the next script. @returns a verdict where there is no lane for it */
  open(): Promise<ScriptedJob | Verdict>;
  /** @returns the verdict of a script that is not proved; null when it may go to the site, whose page is open by then. */
  prove(attempt: AttemptRow, judge: JudgeScript): Promise<Verdict | null>;
  close(): Promise<void>;
}

export function proveInReplay(job: ScriptedJob): ProofInReplay {
  const { ctx, row } = job;
  const { proof_capture = null } = row.options;
  const capture = proof_capture ?? row.job_id;
  let shown: ScriptedJob | null = null;
  /** The job's capture has all that it saw of the site. */
  let is_kept = proof_capture !== null;
  const close = async () => {
    const session = shown?.at;
    shown = null;
    if (session) await endSession(ctx, session, "its script was judged");
  };
  return {
    isDue: (n) => n > 1 || proof_capture !== null,
    open: async () => {
      await close();
      if (!is_kept) await callOwn(job, "run_capture", {}, CAPTURE_MS);
      is_kept = true;
      await say(job, "info", "plan", `opening a replay of job ${capture}, to prove a script in it`);
      if (freeCapacity(ctx, 1) === 0) await say(job, "info", "plan", WAITS);
      const session = await openReplay(job, capture);
      if (!session) return byRules("capacity", NO_LANE);
      shown = showing(job, session);
      void keepAlive(ctx, session);
      await resetPage(shown);
      return shown;
    },
    prove: async (attempt, judge) => {
      if (!shown) return byRules("lane_lost", "the replay has ended");
      const proof = begunProof(capture, shown.at);
      attempt.proof = proof;
      await say(job, "info", "run", `attempt ${attempt.n}: in a replay of job ${capture} first`);
      const verdict = await runJudged(shown, attempt, openAttemptDoor(shown), judge);
      const reason = withMissed(verdict.reason, shown.at, capture);
      endProof(proof, attempt, shown.at, { ok: verdict.ok, reason });
      await close();
      if (!verdict.ok) return notProved(verdict, reason);
      await say(job, "info", "judge", `attempt ${attempt.n}: proved in replay: ${reason}`);
      is_kept = proof_capture !== null;
      forgetRun(attempt);
      await resetPage(job);
      return null;
    },
    close,
  };
}

const MINUTES = LANE_WAIT_MS / 60_000;
const WAITS = `no lane is free for the replay: waiting for one, for up to ${MINUTES} minutes`;
const NO_LANE = `no lane became free within ${MINUTES} minutes for the replay in which the script is to be proved (prove_in_replay): it takes a second lane`;

/** @returns null when no lane became free in time. */
async function openReplay(
  { ctx, row, signal }: ScriptedJob,
  replay: string,
): Promise<HubSession | null> {
  const { headless, dialog_policy, record, attempt_timeout_s } = row.options;
  const profile = await profileForJob(ctx, row.options);
  const { settings: host } = await hostForJob(ctx, row.host);
  // What its host or the setting says asks for no newer worker, here as in the job.
  const own = mergeBrowserOptions([row.options]);
  const input = CreateSession.parse({
    replay,
    headless,
    dialog_policy,
    record,
    use_profile: profile?.name ?? null,
    ...own,
    ttl_s: Math.min(SESSION_TTL_S.ttl_max, WRITING_S + attempt_timeout_s),
  });
  return openSession(ctx, input, {
    opened_by: `job ${row.job_id}`,
    signal,
    wait_ms: LANE_WAIT_MS,
    host,
    // It has waited its turn: whoever came later would otherwise be served while it holds a lane.
    since: row.created_at,
  });
}

async function keepAlive(
  ctx: Pick<ScriptedJob["ctx"], "clock">,
  session: HubSession,
): Promise<void> {
  while (!session.ended.aborted) {
    touchSession(ctx, session);
    await ctx.clock.sleep(KEEP_MS, session.ended);
  }
}

/** The job as its scripts see it in the replay: what they store and tell is the job's. */
const showing = (
  { ctx, row, held, session, signal, saved }: ScriptedJob,
  at: HubSession,
): ScriptedJob => ({
  ctx,
  row,
  held,
  session,
  at,
  signal: AbortSignal.any([signal, at.ended]),
  saved,
  page: { mute: false },
});

const begunProof = (job_id: string, { session_id }: HubSession): Proof => ({
  job_id,
  session_id,
  ok: null,
  reason: null,
  run_ms: null,
  answered: 0,
  missed_count: 0,
});

function endProof(
  proof: Proof,
  { timings }: AttemptRow,
  { replay }: HubSession,
  { ok, reason }: { ok: boolean; reason: string },
): void {
  const { answered = 0, missed_count = 0 } = replay ?? {};
  Object.assign(proof, { ok, reason, run_ms: timings.run_ms, answered, missed_count });
}

/** From here on the attempt tells of the run on the site. */
function forgetRun(attempt: AttemptRow): void {
  const fresh = newAttempt(attempt, attempt.n, attempt.started_at);
  const { stdout, stderr, result, error, exit_code, sandbox, screenshot, evidence } = fresh;
  const run = { stdout, stderr, result, error, exit_code, sandbox, screenshot, evidence };
  Object.assign(attempt, run);
  Object.assign(attempt.timings, { first_action_ms: null, run_ms: null });
}

/** A script that takes another way than the capture fails for that: whoever writes the next one is to know. */
function withMissed(reason: string, { replay }: HubSession, capture: string): string {
  if (!replay || replay.missed_count === 0) return reason;
  const named = replay.missed.slice(0, MOST_NAMED).map(({ method, url }) => `${method} ${url}`);
  const more = replay.missed_count > named.length ? ", and others" : "";
  return `${reason} (the capture of job ${capture} has no answer for ${named.join(", ")}${more})`;
}

const notProved = ({ class: cls, advice, by, engine }: Verdict, reason: string): Verdict => ({
  class: cls,
  ok: false,
  reason: `not proved in replay: ${reason}`.slice(0, 4_000),
  advice,
  by,
  engine,
});
