import { type Issue, invalid } from "#shared/kit/errors.ts";
import type { EgressOption } from "#shared/protocol/egress.ts";
import { type EgressReport, widerThan } from "#shared/protocol/egress-cover.ts";
import type { ProxyOption } from "#shared/protocol/proxy.ts";
import type { ReplayClock } from "#shared/protocol/schema/replay.ts";
import type { Worker } from "#shared/protocol/schema/worker.ts";
import type { FleetContext } from "../context.ts";
import { ableWorkers } from "./shortage.ts";
import { listWorkers } from "./view.ts";

/** What a job or a session says about where it may go, with `replay` nowhere, and what its worker must be able to do. */
export interface WayOut {
  egress: EgressOption | null;
  proxy: ProxyOption | null;
  /** Absent in jobs of an earlier version. */
  replay?: string | null;
  replay_clock?: ReplayClock;
  trace?: boolean;
  /** Of a session: its bodies are to be kept. */
  capture?: boolean;
}

interface Reporting {
  worker_id: string;
  capabilities: {
    egress?: EgressReport | null | undefined;
    replay?: boolean | null | undefined;
    replay_clock?: boolean | null | undefined;
    trace?: boolean | null | undefined;
    session_bodies?: boolean | null | undefined;
  };
}

/** Why this worker's lanes would not go where the job asks; null when they would. */
function wayOutTrouble(
  { worker_id, capabilities: { egress: has, ...can } }: Reporting,
  { egress, proxy, replay = null, replay_clock, trace = false, capture = false }: WayOut,
): string | null {
  const too_old = `worker ${worker_id} is of a version that cannot do it`;
  if ((trace && !can.trace) || (capture && !can.session_bodies)) return too_old;
  if (replay !== null)
    return can.replay && (can.replay_clock || replay_clock !== "capture") ? null : too_old;
  if (egress === null && proxy === null) return null;
  if (!has) return too_old;
  const wider = egress && widerThan(has, egress);
  return wider && `worker ${worker_id} ${wider}`;
}

/** Which workers may get the job or session; null when any may. */
export const wayOutFits = (asked: WayOut): ((worker: Reporting) => boolean) | null =>
  asked.egress === null && asked.proxy === null && !asked.replay && !asked.trace && !asked.capture
    ? null
    : (worker) => wayOutTrouble(worker, asked) === null;

/** Those of these workers on which it may run. */
export const thoseFor = (workers: readonly Worker[], asked: WayOut): readonly Worker[] => {
  const fits = wayOutFits(asked);
  return fits ? workers.filter(fits) : workers;
};

/**
 * @throws AppError invalid when there are workers and none lets a lane go where the job asks: silently narrowing the job
 *   would make it a different one
 */
export async function requireWayOut(
  ctx: FleetContext,
  asked: WayOut,
  { loc = ["body", "options"], only = null }: { loc?: Issue["loc"]; only?: string | null } = {},
): Promise<void> {
  if (wayOutFits(asked) === null) return;
  const workers = ableWorkers(await listWorkers(ctx)).filter(
    ({ worker_id }) => only === null || worker_id === only,
  );
  const troubles = workers.map((worker) => wayOutTrouble(worker, asked));
  if (troubles.length === 0 || troubles.includes(null)) return;
  const named = troubles.slice(0, 3).join("; ");
  const traces = workers.some(({ capabilities }) => capabilities.trace);
  if (asked.trace && !traces) throw invalid([...loc, "trace"], `is not possible: ${named}`);
  const keeps = workers.some(({ capabilities }) => capabilities.session_bodies);
  if (asked.capture && !keeps) throw invalid([...loc, "capture"], `is not possible: ${named}`);
  if (asked.replay) {
    const field = workers.some(({ capabilities: { replay } }) => replay)
      ? "replay_clock"
      : "replay";
    throw invalid([...loc, field], `is not possible: ${named}`);
  }
  const field = asked.egress === null ? "proxy" : "egress";
  throw invalid([...loc, field], `is wider than what any worker allows: ${named}`, "too_wide");
}
