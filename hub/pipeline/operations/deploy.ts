import { readlinkSync } from "node:fs";
import { hostname } from "node:os";
import type { DeployRow } from "#hub/platform/db/rows.ts";
import { pageOfRows } from "#hub/platform/page-of-rows.ts";
import { isProcessAlive } from "#hub/platform/process-alive.ts";
import { isoTime, isoTimeOrNull } from "#shared/kit/clock.ts";
import { createEnds } from "#shared/kit/ends.ts";
import { conflict, errorMessage } from "#shared/kit/errors.ts";
import { createLogMask } from "#shared/kit/log-mask.ts";
import { startLoop } from "#shared/kit/loop.ts";
import { newToken } from "#shared/protocol/ids.ts";
import type {
  Deploy,
  DeployList,
  DeployOutcome,
  DeployQuery,
} from "#shared/protocol/schema/operations.ts";
import type { PipelineContext } from "../context.ts";
import { killLeftovers } from "./leftovers.ts";
import type { DeployDesk } from "./operations.ts";
import { startCommand } from "./run-command.ts";
import { ownSecrets } from "./service-logs.ts";

/** How often its output so far is stored, which also shows that it is running. */
const BEAT_MS = 1_000;
/** After this much silence its process is gone. Longer than a database may be away. */
const DEAD_MS = 60_000;
/** This many bytes are kept of the beginning and of the end of its output. */
const KEEP_OUTPUT = 128 * 1024;
const KEEP_DEPLOYS = 200;
const INTERRUPTED = "the control plane that ran it stopped before its end";
/** Marks the processes of a deploy, with its id and the incarnation that runs it. */
const TAG = "FLOTILLA_DEPLOY";
/** Where a process id means something: containers that share the name of their host do not share its processes. */
export const PLACE = `${hostname()}/${processNamespace()}`;

function processNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return ""; // not Linux
  }
}

/** Tries to store how it ended, a second apart. */
const FINISH_TRIES = 10;

type DeployContext = Pick<PipelineContext, "config" | "clock" | "log"> & {
  db: Pick<PipelineContext["db"], "deploys">;
};

/** A deploy as the wire shows it. */
const deployRecord = (row: DeployRow): Deploy => ({
  deploy_id: row.deploy_id,
  target: row.target,
  args: row.args,
  state: row.outcome ?? "running",
  started_at: isoTime(row.started_at),
  finished_at: isoTimeOrNull(row.finished_at),
  duration_ms: row.finished_at === null ? null : row.finished_at - row.started_at,
  exit_code: row.exit_code,
  error: row.error,
  log: row.log,
});

/** Newest first. A deploy that starts between two pages moves no other one. */
export async function listDeploys(
  { db }: DeployContext,
  { limit, cursor }: DeployQuery,
): Promise<DeployList> {
  const { page, next_cursor } = await pageOfRows(
    limit,
    (rows) => db.deploys.list(rows, cursor),
    ({ deploy_id }) => String(deploy_id),
  );
  return { deploys: page.map(deployRecord), next_cursor };
}

const outcomeOf = (error: string | null, stopping: AbortSignal): DeployOutcome => {
  if (error === null) return "succeeded";
  return stopping.aborted ? "interrupted" : "failed";
};

/** Who runs deploys here: this process, between its start and its end. */
interface Incarnation {
  id: string;
  /** As rows name it. */
  node: string;
  stopping: AbortSignal;
}

/** Keeps the process group with the row, so that a later incarnation can end it; the node's name from now on. */
async function nameGroup(
  { db: { deploys } }: DeployContext,
  deploy_id: number,
  node: string,
  group: number | null,
): Promise<string> {
  if (group === null) return node;
  const named = `${node} ${group}`;
  const done = await deploys.rename(deploy_id, node, named).catch(() => false);
  return done ? named : node;
}

async function storeEnd(
  { clock, log }: DeployContext,
  deploy_id: number,
  stopping: AbortSignal,
  write: () => Promise<unknown>,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await write();
      return;
    } catch (err) {
      log.error({ deploy_id, err: errorMessage(err) }, "could not store the end of a deploy");
      // It sends no more heartbeats, so the sweep ends it.
      if (tries === FINISH_TRIES || stopping.aborted) return;
      await clock.sleep(1_000, stopping);
    }
  }
}

/** Runs the command, tells what it prints, and stores how it ended. */
async function runDeploy(
  ctx: DeployContext,
  { id, node, stopping }: Incarnation,
  { deploy_id }: DeployRow,
  argv: string[],
): Promise<void> {
  const { clock, config, log } = ctx;
  const { deploys } = ctx.db;
  const mask = createLogMask(ownSecrets(ctx));
  const output = createEnds(KEEP_OUTPUT);
  const lost = new AbortController();
  const printed = () => mask.text(output.text());
  const { environment, timeout_ms } = config.deploy;
  const { group, ended } = startCommand({
    argv,
    cwd: config.data_dir,
    timeout_ms,
    output,
    clock,
    environment: { ...environment, [TAG]: `${deploy_id}:${id}` },
    signal: AbortSignal.any([stopping, lost.signal]),
  });
  const mine = await nameGroup(ctx, deploy_id, node, group);
  const beating = startLoop({
    name: "deploy output",
    everyMs: BEAT_MS,
    clock,
    log,
    // The process that marked it as interrupted may have started another one: two must not run at the same time.
    pass: async () => {
      if (!(await deploys.beat(deploy_id, mine, printed(), clock.now()))) lost.abort();
    },
  });
  const { exit_code, error } = await ended;
  await beating.stop();
  const outcome = outcomeOf(error, stopping);
  const end = {
    outcome,
    exit_code,
    log: printed(),
    now: clock.now(),
    error: outcome === "interrupted" ? INTERRUPTED : error && mask.text(error),
  };
  await storeEnd(ctx, deploy_id, stopping, () => deploys.finish(deploy_id, mine, end));
  log.info({ deploy_id, outcome, exit_code, error: end.error }, "deploy ended");
}

/** Ends the deploy of a process that is gone, and what it left behind. `isOurs`: those that run in this process. */
async function sweepDeploys(
  { clock, log, db: { deploys } }: DeployContext,
  { id }: Incarnation,
  isOurs: (deploy_id: number) => boolean,
): Promise<void> {
  await deploys.keepNewest(KEEP_DEPLOYS);
  const row = await deploys.running();
  if (!row || isOurs(row.deploy_id)) return;
  const [place, pid, of, group] = row.node.split(" ");
  // This process may have started one a moment ago, so only silence counts.
  const died =
    of !== id && place === PLACE && (Number(pid) === process.pid || !isProcessAlive(Number(pid)));
  if (!died && (row.beat_at ?? 0) >= clock.now() - DEAD_MS) return;
  // Before another one may start.
  if (place === PLACE && group !== undefined)
    await killLeftovers(Number(group), `${TAG}=${row.deploy_id}:${of}`, clock);
  if (await deploys.interrupt(row, INTERRUPTED, clock.now()))
    log.warn({ deploy_id: row.deploy_id }, "deploy was interrupted");
}

export function createDeployDesk(ctx: DeployContext): DeployDesk {
  const { clock, config, log } = ctx;
  const stopping = new AbortController();
  const id = newToken();
  const self = { id, node: `${PLACE} ${process.pid} ${id}`, stopping: stopping.signal };
  const running = new Map<number, Promise<void>>();
  const sweepOnce = () => sweepDeploys(ctx, self, (deploy_id) => running.has(deploy_id));

  return {
    start: async ({ target, args }) => {
      if (config.deploy.argv === null)
        throw conflict("no deploy command is configured: set SVC_DEPLOY_ARGV");
      await sweepOnce();
      const row = await ctx.db.deploys.begin({ target, args, node: self.node, now: clock.now() });
      if (!row) throw conflict("a deploy is running");
      const { deploy_id } = row;
      log.info({ deploy_id, target }, "deploy started");
      const work = runDeploy(ctx, self, row, [...config.deploy.argv, target, ...args])
        .catch((err) => log.error({ err, deploy_id }, "deploy broke"))
        .finally(() => running.delete(deploy_id));
      running.set(deploy_id, work);
      return deploy_id;
    },
    sweepOnce,
    stop: async () => {
      stopping.abort();
      await Promise.all(running.values());
    },
  };
}
