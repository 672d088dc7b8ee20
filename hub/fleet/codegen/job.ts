import type { JobRow } from "#hub/platform/db/rows.ts";
import type { JobLogEntry } from "#shared/protocol/schema/job.ts";
import { type RunEvent, runText } from "#shared/protocol/schema/run-event.ts";
import type { FleetContext } from "../context.ts";
import { tell } from "../jobs/events.ts";
import { ScriptStopped } from "../jobs/parts.ts";
import type { JobLane } from "../links/worker-link.ts";
import { callSession, resultOf } from "../sessions/calls.ts";
import type { HubSession } from "../sessions/hub-session.ts";

/** A scripted job while its page is open: what every stage is given. */
export interface ScriptedJob {
  readonly ctx: FleetContext;
  readonly row: JobRow;
  readonly held: JobLane;
  /** The job's own. */
  readonly session: HubSession;
  /** Whose pages its scripts see: that one, or a replay's in which they are proved. */
  readonly at: HubSession;
  /** Aborts when the job or its session has ended: whatever it does then counts for nothing. */
  readonly signal: AbortSignal;
  /** Names under which its scripts have saved files, by the name they asked for: the next attempt replaces them. */
  readonly saved: Map<string, string[]>;
  /** `mute`: a script left a page that does not answer, so nothing is asked of it until it is opened again. */
  readonly page: { mute: boolean };
}

/** The names of an attempt's stages in the job's log (rules/events#event-stream). */
export type ScriptStage = "plan" | "check" | "run" | "judge" | "offer";

/** A line of a log holds this much. */
const MAX_MESSAGE = 8_192;

/** Tells the recording of the job's run; a worker of an earlier version records nothing of it. */
export function record({ session }: Pick<ScriptedJob, "session">, event: RunEvent): void {
  const { link, session_id } = session;
  if (link.capabilities.run_events === true)
    link.send({ type: "HubRunEvents", session_id, events: [event] });
}

/** Adds one line to the job's log and sets the row's stage; does nothing once the job has ended. */
export async function say(
  { ctx, row, held, session, signal }: ScriptedJob,
  level: JobLogEntry["level"],
  stage: ScriptStage,
  message: string,
  fields: Record<string, unknown> = {},
): Promise<void> {
  if (signal.aborted) return;
  record({ session }, { type: "stage", stage, text: runText(message) });
  await tell(ctx, row.job_id, level, stage, message.slice(0, MAX_MESSAGE), fields);
  if (held.stage === stage || signal.aborted) return;
  held.stage = stage;
  await ctx.db.jobs.setStage(row.job_id, held.lease.token, stage);
}

/** The verdict of an attempt whose job ended in the middle. */
export const stoppedClass = (signal: AbortSignal): "cancelled" | "lane_lost" =>
  signal.reason instanceof ScriptStopped && signal.reason.status === "cancelled"
    ? "cancelled"
    : "lane_lost";

/** A call of the hub's own on the page that scripts see; its result whole. @throws AppError as `callSession`. */
export async function callPage(
  { ctx, at }: Pick<ScriptedJob, "ctx" | "at">,
  action: string,
  args: Record<string, unknown>,
  timeout_ms: number,
): Promise<unknown> {
  const reply = await callSession(ctx, at, { action, args, timeout_ms });
  return resultOf(ctx, at, reply);
}

/** The same on the job's own session, whatever its scripts see. */
export const callOwn = (
  { ctx, session }: ScriptedJob,
  action: string,
  args: Record<string, unknown>,
  timeout_ms: number,
): Promise<unknown> => callPage({ ctx, at: session }, action, args, timeout_ms);
