import { hostname } from "node:os";
import { retryWait } from "#shared/kit/backoff.ts";
import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import {
  type ClaimedBatch,
  MAX_ERROR_LENGTH,
  type PullHeartbeat,
  type WorkerCommand,
  type WorkloadSettings,
} from "#shared/protocol/schema/pull.ts";
import type { UpdateOrder, UpdateReport } from "#shared/protocol/schema/updates.ts";
import { BROKEN_MS, createBrokenExecutors } from "./broken-executors.ts";
import { createChecker } from "./check-executor.ts";
import { ControlRefused } from "./control-call.ts";
import { createExecutorPool } from "./executor-pool.ts";
import { createExecutor, type FleetAddress } from "./executors.ts";
import { createFlight } from "./flight.ts";
import { createJoining } from "./joining.ts";
import { keepLeases } from "./keep-leases.ts";
import { startLiveRuns } from "./live-runs.ts";
import { createOutbox } from "./outbox.ts";
import { createWorkerPlugins } from "./plugins.ts";
import { CANCELLED, type RunOptions, type TaskEnd } from "./types.ts";

export interface PullDeps {
  control_url: string;
  worker_id: string;
  /** Nobody chose the name: when another live worker has it, this one takes a free name derived from it. */
  derived_id?: boolean;
  slots: number;
  /** What it runs when the control plane sees it for the first time; none: every workload. */
  workloads?: readonly string[];
  secret: string | null;
  api_token: string | null;
  version: string;
  /** This worker's own directory. */
  dir: string;
  /** The part of this process' environment that tasks see. */
  environment: Record<string, string>;
  /** Where fleet_fetch finds its hub. */
  fleet?: FleetAddress;
  clock: Clock;
  log: Log;
  random: () => number;
  /** An operator told this worker to stop (rules/pipeline-pull#commands-to-a-worker). */
  onStop?: () => void;
  /** The control plane has registered this worker; called every time it does. */
  onJoined?: () => void;
  /** Called with the control plane's version at every heartbeat, if the control plane does not order updates. */
  onVersion?: (version: string) => void;
  /** For a worker that the control plane updates: what the worker reports about it and what it is told. */
  update?: PullUpdate;
  /** Load of this worker and of its host, for the heartbeat. */
  load?: () => Promise<
    Pick<PullHeartbeat, "cpu_percent" | "host_cpu_percent" | "mem_percent" | "gpus">
  >;
}

export interface PullUpdate {
  report(): UpdateReport | null;
  obey(order: UpdateOrder): void;
}

export interface PullWorker {
  /** Takes no further tasks, lets the running ones end within `drain_ms`, gives the others back. Idempotent. */
  stop(drain_ms: number): Promise<void>;
}

const WAIT_MS = 20_000;
const RETRY_MS = { first: 200, most: 10_000 };
/** Time to end the tasks that are left when the drain is over. */
const STOP_MS = 15_000;
/** Time to say goodbye to a control plane that may be away. */
const LEAVE_MS = 1_000;

/** Statuses that blame the call itself: sending it again would change nothing. */
const FAULTY = new Set([400, 413, 422]);

/**
 * Joins the control plane and runs its tasks in `slots` slots (rules/pipeline-pull#what-a-worker-must-do). Reports are
 * kept and sent again until they are answered; what a stopping worker could not report is saved for the next
 * start.
 */
export function startPullWorker(deps: PullDeps): PullWorker {
  const { clock, log, slots } = deps;
  const stopping = new AbortController();
  const gone = new AbortController();
  const joining = createJoining({ ...deps, signal: gone.signal });
  const flight = createFlight();
  const plugins = createWorkerPlugins({ ...deps, signal: gone.signal });
  const create = (workload: WorkloadSettings) =>
    plugins.createExecutor(workload, (settings, more) =>
      createExecutor({ ...deps, environment: { ...deps.environment, ...more } }, settings),
    );
  const pool = createExecutorPool({ ...{ most: slots, clock, log }, create });
  const settings = new Map<string, WorkloadSettings>();
  const broken = createBrokenExecutors(clock, () => leases.beatNow());
  /** What this control plane accepts beyond the first version of its calls (PULL_FEATURES). */
  let accepts: readonly string[] = [];
  const outbox = createOutbox();
  /** Slots without a batch and without a claim under way. */
  let free = slots;
  let heartbeat_ms = 5_000;
  let registered: Promise<void> | null = null;
  const running = new Set<Promise<void>>();
  /** Resolves at the next change of slots or reports. */
  let next = Promise.withResolvers<void>();
  const changed = () => {
    next.resolve();
    next = Promise.withResolvers();
  };

  /** A stopping worker that has nothing to report may give up. */
  const isOver = () => gone.signal.aborted || (stopping.signal.aborted && outbox.size === 0);
  /** Calls again with growing waits until it is answered or no longer needed. */
  const retry = async <T>(
    what: string,
    call: () => Promise<T>,
    onFailure: (err: unknown) => void = () => {},
    refusedFor: (err: unknown) => number | null = () => null,
  ): Promise<T> => {
    for (let failures = 0; ; failures += 1) {
      try {
        return await call();
      } catch (err) {
        if (isOver()) throw err;
        onFailure(err);
        const refused_ms = refusedFor(err);
        const wait_ms = refused_ms ?? retryWait(failures, RETRY_MS, deps.random());
        log[refused_ms === null ? "warn" : "error"](
          { err: errorMessage(err), wait_ms },
          `${what} failed`,
        );
        const ends = stopping.signal.aborted ? [gone.signal] : [gone.signal, stopping.signal];
        await clock.sleep(wait_ms, AbortSignal.any(ends));
        if (isOver()) throw err;
      }
    }
  };
  const join = async (): Promise<void> => {
    const { version, workloads = [] } = deps;
    const answer = await joining.register({
      ...{ host: hostname(), slots, version, labels: {} },
      workloads: [...workloads],
    });
    heartbeat_ms = answer.heartbeat_ms;
    accepts = answer.accepts;
    leases.paced();
    log.info({ worker_id: answer.worker_id, slots }, "joined the control plane");
    deps.onJoined?.();
  };
  const register = (): Promise<void> => {
    registered ??= retry("joining the control plane", join, undefined, joining.refusedFor).catch(
      (err) => {
        registered = null;
        throw err;
      },
    );
    return registered;
  };
  /** Another process has this name, or the control plane has forgotten us: register again. */
  const noticeRefusal = (err: unknown) => {
    // An older control plane that refuses what another accepted says what it accepts when the worker registers.
    if (err instanceof ControlRefused && (err.status === 409 || err.status === 422))
      registered = null;
  };
  const persist = <T>(what: string, call: () => Promise<T>): Promise<T> =>
    retry(what, () => register().then(call), noticeRefusal);

  const want = (n: number, wait_ms: number) => ({
    slots: n,
    wait_ms,
    exclude: broken.excluded(),
    known: Object.fromEntries([...settings].map(([slug, { revision }]) => [slug, revision])),
  });

  const exchange = async (n: number, wait_ms: number): Promise<void> => {
    // Taken before the call leaves, so that no other claim uses them.
    free -= n;
    const sending = outbox.take();
    const asked_at = performance.now();
    try {
      const answer = await joining.client.exchange(
        { ...sending.body, want: want(n, wait_ms) },
        wait_ms,
      );
      outbox.sent();
      for (const workload of answer.workloads) settings.set(workload.slug, workload);
      for (const { task_id, epoch, status } of answer.results)
        if (status === "stale") log.warn({ task_id, epoch }, "a report came too late");
      free += n - answer.batches.length;
      for (const batch of answer.batches) begin(batch, asked_at);
    } catch (err) {
      free += n;
      const faulty = err instanceof ControlRefused && FAULTY.has(err.status);
      if (!faulty || sending.entries.length === 0) {
        outbox.putBack(sending);
        throw err;
      }
      const lost = outbox.refused(sending, err.message);
      const { workload, item } = lost ?? {};
      if (lost) log.error({ workload, ...item, err: err.message }, "a report was refused for good");
    }
  };

  const begin = (batch: ClaimedBatch, asked_at: number): void => {
    const stops = new Map<number, AbortController>();
    for (const task of batch.tasks) {
      const stop = new AbortController();
      stops.set(task.task_id, stop);
      flight.add(task, batch.workload, batch.lease_ms, asked_at, stop);
    }
    leases.begun(batch.lease_ms);
    const work = runBatch(batch, stops)
      .catch((err) => {
        log.error({ err, workload: batch.workload }, "a batch broke");
        // Kept in flight, they would be renewed forever.
        const reason = errorMessage(err);
        const outcome = { kind: "not_run", reason, broken: true } as const;
        for (const task of batch.tasks) report(batch, { ...EMPTY, task, outcome });
      })
      .finally(() => {
        running.delete(work);
        free += 1;
        changed();
      });
    running.add(work);
  };

  const runBatch = async (batch: ClaimedBatch, stops: Map<number, AbortController>) => {
    const workload = settings.get(batch.workload);
    const giveBack = (reason: string, isBroken = false) => {
      log.warn({ workload: batch.workload, reason }, "tasks given back");
      const outcome = { kind: "not_run", reason, broken: isBroken } as const;
      for (const task of batch.tasks) onEnd({ ...EMPTY, task, outcome });
    };
    const onEnd = (ended: TaskEnd) => report(batch, ended);
    const onBegin: RunOptions["onBegin"] = (task, look, notes) =>
      live.begin(batch.workload, task, look, notes);
    const watched = { timeout_ms: batch.timeout_ms, onBegin, onEnd };
    if (stopping.signal.aborted) return giveBack("the worker is stopping");
    if (!workload) return giveBack("its settings are not known");
    const executor = await pool.take(workload).catch((err) => {
      giveBack(errorMessage(err), true);
      return null;
    });
    if (!executor) return;
    // One task that is lost must not stop its neighbours, so each is run under its own signal.
    const runAlone = (task: ClaimedBatch["tasks"][number]) => {
      const { signal } = stops.get(task.task_id) as AbortController;
      return executor.run([task], { ...watched, signal });
    };
    const runAll = async () => {
      // A fleet job is only waited for here, and the fleet has a queue of its own.
      if (workload.executor_type === "fleet_fetch") await Promise.all(batch.tasks.map(runAlone));
      else if (batch.tasks.length === 1 || workload.executor_type === "command")
        for (const task of batch.tasks) await runAlone(task);
      else {
        const signal = AbortSignal.any([...stops.values()].map((s) => s.signal));
        await executor.run(batch.tasks, { ...watched, signal });
      }
    };
    await runAll().catch(async (err) => {
      await executor.close();
      throw err;
    });
    await pool.give(workload, executor);
  };

  const report = (
    { workload, revision }: Pick<ClaimedBatch, "workload" | "revision">,
    { task, outcome, notes, ...printed }: TaskEnd,
  ): void => {
    const { task_id, epoch } = task;
    live.end(task);
    // The task is lost: nobody needs its result.
    if (!flight.has(task)) return;
    flight.remove(task);
    const { duration_ms, stdout, stderr, truncated } = printed;
    const said = notes && accepts.includes("notes") ? { notes } : {};
    const told = { task_id, epoch, duration_ms, stdout, stderr, truncated, ...said };
    const printedBytes = stdout.length + stderr.length;
    if (outcome.kind !== "not_run") broken.clear(workload);
    if (outcome.kind === "done") {
      const { output } = outcome;
      const bytes = printedBytes + (JSON.stringify(output)?.length ?? 0);
      outbox.add("done", workload, { ...told, output }, bytes);
    } else if (outcome.kind === "not_run" || outcome.error === CANCELLED) {
      // Stopped together with a neighbour that was lost: nothing is wrong with the executor.
      if (outcome.kind === "not_run" && outcome.broken)
        broken.mark(workload, revision, outcome.reason, stderr);
      outbox.add("released", workload, { task_id, epoch });
    } else if (outcome.retry_after_ms !== null && accepts.includes("snooze")) {
      const { retry_after_ms, error } = outcome;
      const reason = error.slice(0, MAX_ERROR_LENGTH);
      outbox.add("released", workload, { task_id, epoch, retry_after_ms, reason }, reason.length);
    } else {
      const { kind: _kind, ...how } = outcome;
      const error = how.error.slice(0, MAX_ERROR_LENGTH);
      outbox.add("failed", workload, { ...told, workload, ...how, error }, printedBytes);
    }
    changed();
  };

  const pending = () => outbox.size > 0;
  /** Reports what ended and fills the slots that this freed. Never waits for work. */
  const reporter = async (): Promise<void> => {
    await register();
    while (!gone.signal.aborted) {
      if (pending()) {
        await persist("a report", () => exchange(stopping.signal.aborted ? 0 : free, 0));
        changed();
        continue;
      }
      if (stopping.signal.aborted && running.size === 0) return;
      await next.promise;
    }
  };
  /** Waits for work with every slot that has none. */
  const poller = async (): Promise<void> => {
    await register();
    while (!stopping.signal.aborted) {
      if (free === 0 || pending()) {
        await next.promise;
        continue;
      }
      const asked = broken.excluded().length > 0 ? BROKEN_MS.first : WAIT_MS;
      await persist("a claim", async () => {
        if (!pending()) await exchange(free, asked);
      });
    }
  };

  /** Every heartbeat repeats commands until they are too old; each is obeyed once. */
  let obeyed = "";
  const obey = async ({ command_id, command }: WorkerCommand): Promise<void> => {
    if (command_id === obeyed) return;
    obeyed = command_id;
    log.info({ command }, "told by an operator");
    if (command === "recycle") await pool.recycle();
    if (command === "stop") deps.onStop?.();
  };
  const checker = createChecker({
    ...{ create, log },
    answer: (found) => retry("the answer of a check", () => joining.client.answerCheck(found)),
    onFound: ({ slug, revision }, found) => {
      if (found) broken.mark(slug, revision, found.error, found.trace);
      else broken.clear(slug);
      changed();
    },
  });
  const live = startLiveRuns({
    ...{ clock, log },
    tell: (items) => joining.client.tellLiveRuns(items),
    notes: () => accepts.includes("notes"),
  });
  const leases = keepLeases({
    ...{ clock, log, flight, random: deps.random },
    idleMs: () => heartbeat_ms,
    untold: outbox.refs,
    beat: async (in_flight) => {
      await register();
      const load = (await deps.load?.()) ?? {};
      const said = accepts.includes("broken") ? { broken: broken.list() } : {};
      const { update } = deps;
      const told = update && accepts.includes("update") && { update: { report: update.report() } };
      const answer = await joining.client
        .heartbeat({ in_flight, ...load, ...said, ...told })
        .catch((err) => {
          noticeRefusal(err);
          throw err;
        });
      const { lost, commands, checks, version } = answer;
      checker.begin(checks);
      if (answer.update) update?.obey(answer.update);
      // Where the control plane orders updates, its orders decide, even before the first one.
      else if (version !== undefined && !told) deps.onVersion?.(version);
      for (const command of commands)
        void obey(command).catch((err) => log.error({ err, ...command }, "a command failed"));
      return lost;
    },
  });
  const quiet = (work: Promise<void>) => work.catch(() => {});
  const working = Promise.all([quiet(reporter()), quiet(poller())]);

  /** Frees the name for the next process; a worker that could not report everything keeps its name for that. */
  const leave = async (): Promise<void> => {
    if (outbox.size > 0 || running.size > 0) return;
    const over = new AbortController();
    const told = joining.client.drain(true).then(
      () => over.abort(),
      () => over.abort(),
    );
    await Promise.race([told, clock.sleep(LEAVE_MS, over.signal)]);
    over.abort();
  };
  const drain = async (drain_ms: number): Promise<void> => {
    stopping.abort();
    changed();
    // Not awaited: if nobody answers, the tasks use the time.
    void joining.client.drain().catch(() => {});
    const over = new AbortController();
    const idle = Promise.all(running).then(() => over.abort());
    await clock.sleep(drain_ms, over.signal);
    if (!over.signal.aborted) flight.stopAll("the worker is stopping");
    await Promise.race([idle, clock.sleep(STOP_MS, over.signal)]);
    changed();
    const late = new AbortController();
    await Promise.race([working, clock.sleep(STOP_MS, late.signal)]);
    late.abort();
    await leave();
    gone.abort();
    changed();
    await working;
    await joining.spool(outbox).catch((err) => log.error({ err }, "reports are lost"));
    await Promise.all([leases.stop(), live.stop(), checker.idle()]);
    await pool.close();
    await plugins.close();
  };
  let stopped: Promise<void> | undefined;
  return {
    stop: (drain_ms) => {
      stopped ??= drain(drain_ms);
      return stopped;
    },
  };
}

const EMPTY = { duration_ms: 0, stdout: "", stderr: "", truncated: false };
