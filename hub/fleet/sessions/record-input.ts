import { AppError } from "#shared/kit/errors.ts";
import { RecordedInput, type RecordInput } from "#shared/protocol/schema/recorded-input.ts";
import type { FleetContext } from "../context.ts";
import { callSession, resultOf } from "./calls.ts";
import type { HubSession } from "./hub-session.ts";

type RecordContext = Pick<FleetContext, "session_calls" | "clock" | "stopping" | "meters">;

/** The code of the recorder goes into every document of the browser first. */
const START_MS = 20_000;
const READ_MS = 5_000;

async function read(
  ctx: RecordContext,
  session: HubSession,
  call: Parameters<typeof callSession>[2],
): Promise<RecordedInput> {
  const answer = await callSession(ctx, session, call);
  const parsed = RecordedInput.safeParse(await resultOf(ctx, session, answer));
  if (parsed.success) return parsed.data;
  throw new AppError("relay_failed", `the worker's answer to ${call.action} makes no sense`);
}

/** Begins to record what people do in the session, or ends it (rules/recorded-input). */
export const recordInput = (
  ctx: RecordContext,
  session: HubSession,
  { on }: RecordInput,
): Promise<RecordedInput> =>
  read(ctx, session, { action: "record_input", args: { on }, timeout_ms: START_MS });

/** The steps so far; with `wait_s` once there are others than in `revision`. Counts as no activity. */
export const readRecordedInput = (
  ctx: RecordContext,
  session: HubSession,
  { revision, wait_s }: { revision: number; wait_s: number },
): Promise<RecordedInput> =>
  read(ctx, session, {
    action: "recorded_input",
    args: { revision, wait_ms: wait_s * 1_000 },
    timeout_ms: wait_s * 1_000 + READ_MS,
    counts_as_activity: false,
  });
