import type { PullWorkerRow } from "#hub/platform/db/rows.ts";
import type { SeenWorker } from "#hub/platform/rollout/decide.ts";
import type { FleetPart } from "#hub/platform/rollout/rollout.ts";
import { AppError } from "#shared/kit/errors.ts";
import type { PipelineContext } from "../context.ts";
import { checkExecutor } from "./checks.ts";
import { TOLD_PREFIX, type ToldUpdate } from "./hear-update.ts";
import { isLive } from "./is-live.ts";
import { mayRun } from "./may-run.ts";

/** Pull workers that update themselves (rules/updates#pull-workers), as the roll-out sees them. */

/** How many runs are read, newest first, and how far back among all runs. */
const RUNS = { own: 20, back: 50_000 };
/** This many failures, while other workers succeed, are blamed on the version. */
const FAILURES = 3;
/** Workloads whose code the canary is asked to load. */
const MOST_CHECKS = 3;
const CHECK_S = 30;

/** Part of the deadline after which a canary without tasks is asked to load code. */
const CHECK_AFTER = 0.1;

interface Proof {
  ok: boolean;
  how: string;
}

/** The pull workers that live. */
async function see({
  db,
  kv,
  wall_jumps,
}: Pick<PipelineContext, "db" | "kv" | "wall_jumps">): Promise<SeenWorker[]> {
  const told = new Map(
    (await kv.list<ToldUpdate>(TOLD_PREFIX)).map(({ value }) => [value.worker_id, value.report]),
  );
  return (await db.pull_workers.list())
    .filter((row) => row.incarnation !== "" && isLive(wall_jumps, row))
    .map((row) => ({
      kind: "pull",
      worker_id: row.worker_id,
      version: row.version,
      active: !row.draining,
      in_flight: row.in_flight,
      unwell: null,
      report: told.get(row.worker_id) ?? null,
      // A worker that reports nothing updates through its browser lanes, or runs an earlier version.
      waits_for_order: told.has(row.worker_id),
      since: row.started_at,
    }));
}

/** What the worker's runs since then show; while they show nothing, how many have failed. */
async function judgeRuns(
  { db }: Pick<PipelineContext, "db">,
  worker_id: string,
  since: number,
): Promise<Proof | number> {
  const newest = await db.runs.newest();
  const from = Math.max(1, (newest ?? 0) - RUNS.back);
  const list = (more: { worker_id?: string; success?: boolean }) =>
    db.runs.list({ ...more, since, from, limit: RUNS.own, brief: true });
  const [done] = await list({ worker_id, success: true });
  if (done) return { ok: true, how: `run ${done.run_id} succeeded` };
  const failed = await list({ worker_id, success: false });
  if (failed.length < FAILURES) return failed.length;
  const others = await list({ success: true });
  if (!others.some((run) => run.worker_id !== worker_id)) return failed.length;
  const how = `its first ${failed.length} tasks failed, the last with "${failed[0]?.error ?? ""}", while other workers completed theirs`;
  return { ok: false, how };
}

/** Has the canary load the code of its workloads; code that no worker can load proves nothing about the version. */
async function checkCode(
  ctx: Pick<PipelineContext, "db" | "clock" | "wall_jumps" | "pipeline" | "kv">,
  worker_id: string,
): Promise<Proof | null> {
  const { db, wall_jumps, pipeline } = ctx;
  const rows = await db.pull_workers.list();
  const row = rows.find((one) => one.worker_id === worker_id);
  if (!row) return null;
  const able = pipeline.workloads.all().filter((one) => one.enabled && mayRun(row, one));
  if (able.length === 0)
    return { ok: true, how: "its heartbeats, because there is no workload that it may run" };
  const isBrokenElsewhere = (slug: string, other: PullWorkerRow) =>
    (other.broken ?? []).some((one) => one.workload === slug);
  let fault: string | null = null;
  for (const { slug } of able.slice(0, MOST_CHECKS)) {
    const found = await checkExecutor(
      ctx,
      slug,
      { worker_id, timeout_s: CHECK_S },
      pipeline.stopping,
    );
    if (found.state === "ok") return { ok: true, how: `it has loaded the code of ${slug}` };
    const others = rows.filter((one) => one.worker_id !== worker_id && isLive(wall_jumps, one));
    if (others.length > 0 && !others.some((one) => isBrokenElsewhere(slug, one)))
      fault ??= `it cannot load the code of ${slug}, but other workers can: ${found.error}`;
  }
  if (fault !== null) return { ok: false, how: fault };
  return { ok: true, how: "its heartbeats, as its workloads' code is broken everywhere" };
}

/** Checks of canaries, one for each turn, that run in the background: whoever asks gets what is known. */
function createChecks(
  ctx: Pick<PipelineContext, "log" | "db" | "clock" | "wall_jumps" | "pipeline" | "kv">,
) {
  const checks = new Map<string, { key: string; proof: Proof | null }>();
  return (worker_id: string, key: string): Proof | null => {
    const known = checks.get(worker_id);
    if (known?.key === key) return known.proof;
    const check: { key: string; proof: Proof | null } = { key, proof: null };
    checks.set(worker_id, check);
    checkCode(ctx, worker_id).then(
      (proof) => {
        check.proof = proof;
        if (!proof) checks.delete(worker_id);
      },
      (err) => {
        // Asked again in the next pass; the deadline ends it.
        checks.delete(worker_id);
        if (!(err instanceof AppError))
          ctx.log.error({ worker_id, err }, "could not check a worker");
      },
    );
    return null;
  };
}

export function pullPart(
  ctx: Pick<PipelineContext, "clock" | "db" | "kv" | "log" | "pipeline" | "rollout" | "wall_jumps">,
): FleetPart {
  const { clock, rollout } = ctx;
  const check = createChecks(ctx);
  return {
    kind: "pull",
    see: () => see(ctx),
    prove: async (turn, { worker_id, in_flight }) => {
      const judged = await judgeRuns(ctx, worker_id, turn.since);
      if (typeof judged !== "number") return judged;
      const waited_ms = clock.now() - turn.since;
      const due = waited_ms >= rollout.config.deadline_ms * CHECK_AFTER && in_flight === 0;
      if (!due && judged < FAILURES) return null;
      return check(worker_id, `${turn.target} ${turn.since}`);
    },
  };
}
