import type { PullWorkerRow } from "#hub/platform/db/rows.ts";
import { createEnds } from "#shared/kit/ends.ts";
import { AppError, conflict, notFound } from "#shared/kit/errors.ts";
import { HOST_NAME } from "#shared/protocol/schema/agent.ts";
import type { PipelineContext } from "../context.ts";
import type { RestartDesk } from "../operations/operations.ts";
import { runCommand } from "../operations/run-command.ts";
import { sshArgv } from "./ssh.ts";

/** The log gets this many bytes from the beginning and from the end of what the command prints. */
const KEEP_OUTPUT = 2_000;
/** Time after its deadline by which its process group has certainly ended. */
const GRACE_MS = 10_000;

type RestartContext = Pick<PipelineContext, "config" | "clock" | "log"> & {
  db: Pick<PipelineContext["db"], "pull_workers" | "worker_restarts">;
};

/** Restarts workers over SSH: one restart per worker at a time, across all control processes. */
export function createRestartDesk(ctx: RestartContext): RestartDesk {
  const { clock, config, db, log } = ctx;
  const { command, timeout_ms, environment } = config.ssh;
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();

  const isAllowed = (host: string) => {
    const { hosts } = config.ssh;
    return HOST_NAME.test(host) && (hosts.includes("*") || hosts.includes(host));
  };

  const run = async (
    { worker_id, host }: PullWorkerRow,
    argv: readonly string[],
    busy_until: number,
  ): Promise<void> => {
    const output = createEnds(KEEP_OUTPUT);
    const signal = stopping.signal;
    const cwd = config.data_dir;
    const end = await runCommand({ argv, cwd, environment, timeout_ms, signal, output, clock });
    const fields = { worker_id, host, ...end, output: output.text() };
    if (end.error === null) log.info(fields, "worker restarted over ssh");
    else log.error(fields, "could not restart the worker over ssh");
    await db.worker_restarts.end(worker_id, busy_until, end);
  };
  /** False when one is under way or the limit has been reached. */
  const begin = async (
    worker: PullWorkerRow,
    words: readonly string[],
    limit: { limit: number | null; idle_since: number | null },
  ): Promise<boolean> => {
    const { worker_id, host } = worker;
    const now = clock.now();
    const busy_until = now + timeout_ms + GRACE_MS;
    if (!(await db.worker_restarts.begin(worker_id, { now, busy_until, ...limit }))) return false;
    log.warn({ worker_id, host, asked: limit.limit === null }, "worker restart started over ssh");
    const argv = sshArgv({ ...config.ssh, command: words }, worker);
    const work = run(worker, argv, busy_until)
      .catch((err) => log.error({ err, worker_id }, "could not store the result of a restart"))
      .finally(() => running.delete(work));
    running.add(work);
    return true;
  };

  return {
    ask: async (worker_id) => {
      const worker = await db.pull_workers.get(worker_id);
      if (!worker) throw notFound("worker");
      if (command === null)
        throw conflict("no restart command is configured: set SVC_RESTART_ARGV");
      const { host } = worker;
      if (!isAllowed(host)) throw new AppError("not_found", `${host} is not in SVC_SSH_HOSTS`);
      if (!(await begin(worker, command, { limit: null, idle_since: null })))
        throw conflict("a restart of this worker is under way");
      return { worker_id, host };
    },
    restartSilent: async (worker) => {
      if (command === null || !isAllowed(worker.host)) return false;
      const { max_per_hour, silent_ms } = config.watchdog;
      // A worker that was just restarted gets the full time again to report.
      const idle_since = clock.now() - silent_ms;
      return begin(worker, command, { limit: max_per_hour, idle_since });
    },
    stop: async () => {
      stopping.abort();
      await Promise.all(running);
    },
  };
}
