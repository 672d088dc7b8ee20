import type { JobRow } from "#hub/platform/db/rows.ts";
import { ASSIGN_ACK_MS } from "#shared/protocol/limits.ts";
import { maskProxy } from "#shared/protocol/proxy.ts";
import { withoutBrowserOptions } from "#shared/protocol/schema/browser-options.ts";
import type { FleetContext } from "../context.ts";
import type { AssignAnswer, JobLane, WorkerLink } from "../links/worker-link.ts";
import { hostForJob } from "../registries/hosts.ts";
import { recordModeOf } from "../registries/record-mode.ts";
import type { HubSession } from "../sessions/hub-session.ts";
import { browserOfJob } from "./browser-options.ts";
import { tell } from "./events.ts";
import { runExtras } from "./extras.ts";
import { traceparentOf } from "./job-trace.ts";
import { minAssetSize } from "./settings.ts";

/**
 * Sends the claimed job to its worker and waits for the answer, at most ASSIGN_ACK_MS.
 * @param in_session the live session it runs in (attach_to_job), or null for a lane of its own.
 * @param accepted called at once when the worker takes the job, so that its next message finds what this creates.
 */
export async function sendJob(
  ctx: Pick<FleetContext, "bus" | "clock" | "config" | "db" | "settings_cache" | "tracer">,
  link: WorkerLink,
  held: JobLane,
  row: JobRow,
  in_session: HubSession | null,
  accepted: () => Promise<unknown>,
): Promise<AssignAnswer> {
  const { job_id } = row;
  const { lane_idx, token, session_id, worker_id } = held.lease;
  let made: Promise<unknown> = Promise.resolve();
  const answered = new Promise<AssignAnswer>((resolve) => {
    held.answer = (answer) => {
      if (answer.kind === "accepted") made = accepted();
      resolve(answer);
    };
  });
  const min_asset_size_bytes = row.options.min_asset_size_bytes || (await minAssetSize(ctx));
  // A worker of an earlier version rejects options that it does not know.
  const {
    egress,
    proxy: _own,
    final_state: _told,
    record,
    replay,
    replay_clock,
    prove_in_replay,
    proof_capture,
    trace,
    ...known
  } = row.options;
  const host = await hostForJob(ctx, row.host);
  const extras = await runExtras(ctx, row, host);
  const browser = await browserOfJob(ctx, row, host.settings, link);
  if (replay) link.replays.add(replay);
  // Written before the message leaves, so that it precedes the worker's own first line.
  await tell(ctx, job_id, "info", "assigned", `assigned to worker ${worker_id}, lane ${lane_idx}`, {
    worker_id,
    lane_idx,
    queued_ms: ctx.clock.now() - row.created_at,
  });
  const traceparent = await traceparentOf(ctx, job_id);
  const sent = link.send({
    type: "HubAssignJob",
    job_id,
    lease_token: token,
    lane_idx,
    session_id,
    url: row.url,
    options: {
      ...withoutBrowserOptions(known),
      ...(egress && { egress }),
      ...(replay && { replay }),
      ...(replay_clock === "capture" && { replay_clock }),
      ...(prove_in_replay && { prove_in_replay }),
      ...(proof_capture && { proof_capture }),
      ...(trace && { trace }),
      min_asset_size_bytes,
      // The login comes only with the extras.
      ...(extras.proxy && { proxy: maskProxy(extras.proxy) }),
    },
    extras: { ...extras, ...browser, in_session: in_session?.session_id ?? null },
    record: await recordModeOf(ctx, record, host.settings),
    ...(traceparent && { traceparent }),
  });
  if (!sent) return { kind: "closed" };
  const over = new AbortController();
  const late = async (): Promise<AssignAnswer> => {
    // No other worker has the session: while the hub waits for this worker, it waits for its answer.
    do await ctx.clock.sleep(ASSIGN_ACK_MS, over.signal);
    while (in_session && link.cut && !over.signal.aborted);
    return { kind: "refused", reason: `no answer for ${ASSIGN_ACK_MS} ms` };
  };
  const answer = await Promise.race([answered, late()]);
  over.abort();
  await made;
  return answer;
}
