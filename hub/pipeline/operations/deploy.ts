import { readlinkSync } from "node:fs";
import { hostname } from "node:os";
import type { DeployRow } from "#hub/platform/db/rows.ts";
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
import { startCommand } from "./run-command.ts";
import { ownSecrets } from "./service-logs.ts";
import type { DeployDesk } from "./types.ts";

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
  const found = await db.deploys.list(limit + 1, cursor);
  const page = found.slice(0, limit);
  const next_cursor = found.length > limit ? String(page.at(-1)?.deploy_id) : null;
  return { deploys: page.map(deployRecord), next_cursor };
}

export function createDeployDesk(ctx: DeployContext): DeployDesk {
  const { clock, config, log } = ctx;
  const { deploys } = ctx.db;
  const incarnation = newToken();
  const node = `${PLACE} ${process.pid} ${incarnation}`;
  const mask = createLogMask(ownSecrets(ctx));
  const stopping = new AbortController();
  const running = new Map<number, Promise<void>>();

  const run = async ({ deploy_id }: DeployRow, argv: string[]): Promise<void> => {
    const output = createEnds(KEEP_OUTPUT);
    const lost = new AbortController();
    const printed = () => mask.text(output.text());
    const { environment, timeout_ms } = config.deploy;
    const { group, ended } = startCommand({
      ...{ argv, cwd: config.data_dir, timeout_ms, output, clock },
      environment: { ...environment, [TAG]: `${deploy_id}:${incarnation}` },
      signal: AbortSignal.any([stopping.signal, lost.signal]),
    });
    const mine = await nameGroup(deploy_id, group);
    const beating = startLoop({
      name: "deploy output",
      everyMs: BEAT_MS,
      clock,
      log,
      // The process that marked it as interrupted may have started another one: two must not run at once.
      pass: async () => {
        if (!(await deploys.beat(deploy_id, mine, printed(), clock.now()))) lost.abort();
      },
    });
    const { exit_code, error } = await ended;
    await beating.stop();
    const outcome = outcomeOf(error, stopping.signal);
    const end = {
      ...{ outcome, exit_code, log: printed(), now: clock.now() },
      error: outcome === "interrupted" ? INTERRUPTED : error && mask.text(error),
    };
    await store(deploy_id, () => deploys.finish(deploy_id, mine, end));
    log.info({ deploy_id, outcome, exit_code, error: end.error }, "deploy ended");
  };
  /** Keeps the process group with the row, so that a later incarnation can end it. */
  const nameGroup = async (deploy_id: number, group: number | null): Promise<string> => {
    if (group === null) return node;
    const named = `${node} ${group}`;
    const done = await deploys.rename(deploy_id, node, named).catch(() => false);
    return done ? named : node;
  };
  const store = async (deploy_id: number, write: () => Promise<unknown>): Promise<void> => {
    for (let tries = 1; ; tries += 1) {
      try {
        await write();
        return;
      } catch (err) {
        log.error({ deploy_id, err: errorMessage(err) }, "end of a deploy not stored");
        // It sends no more heartbeats, so the sweep ends it.
        if (tries === FINISH_TRIES || stopping.signal.aborted) return;
        await clock.sleep(1_000, stopping.signal);
      }
    }
  };

  const isGone = (row: DeployRow): boolean => {
    if (running.has(row.deploy_id)) return false;
    const [place, pid, of] = row.node.split(" ");
    // This process may have started one a moment ago, so only silence counts.
    if (of !== incarnation && place === PLACE)
      if (Number(pid) === process.pid || !isProcessAlive(Number(pid))) return true;
    return (row.beat_at ?? 0) < clock.now() - DEAD_MS;
  };
  const sweepOnce = async (): Promise<void> => {
    await deploys.keepNewest(KEEP_DEPLOYS);
    const row = await deploys.running();
    if (!row || !isGone(row)) return;
    const [place, , of, group] = row.node.split(" ");
    // Before another one may start.
    if (place === PLACE && group !== undefined)
      await killLeftovers(Number(group), `${TAG}=${row.deploy_id}:${of}`, clock);
    if (await deploys.interrupt(row, INTERRUPTED, clock.now()))
      log.warn({ deploy_id: row.deploy_id }, "deploy was interrupted");
  };

  return {
    start: async ({ target, args }) => {
      if (config.deploy.argv === null)
        throw conflict("no deploy command is configured: set SVC_DEPLOY_ARGV");
      await sweepOnce();
      const row = await deploys.begin({ target, args, node, now: clock.now() });
      if (!row) throw conflict("a deploy is running");
      const { deploy_id } = row;
      log.info({ deploy_id, target }, "deploy started");
      const work = run(row, [...config.deploy.argv, target, ...args])
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

const outcomeOf = (error: string | null, stopping: AbortSignal): DeployOutcome => {
  if (error === null) return "succeeded";
  return stopping.aborted ? "interrupted" : "failed";
};
