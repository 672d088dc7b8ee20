import { hostname } from "node:os";
import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import type { Tracer } from "#shared/kit/tracing/tracer.ts";
import type { WorkloadSettings } from "#shared/protocol/schema/pull.ts";
import { type BrokenExecutors, createBrokenExecutors } from "./broken-executors.ts";
import { createChecker } from "./check-executor.ts";
import { drain } from "./drain.ts";
import { exchangeUntilStopped } from "./exchange.ts";
import type { TaskEnd } from "./executor.ts";
import { createExecutorPool } from "./executor-pool.ts";
import { createExecutor } from "./executors.ts";
import { createFlight, type Flight } from "./flight.ts";
import { createHeartbeat, createObedience, type HeartbeatTopics } from "./heartbeat.ts";
import { createJoining } from "./joining.ts";
import { keepLeases } from "./keep-leases.ts";
import { createLife } from "./life.ts";
import { startLiveRuns } from "./live-runs.ts";
import { createMembership, type MembershipDeps } from "./membership.ts";
import { createOutbox, type Outbox } from "./outbox.ts";
import { createWorkerPlugins } from "./plugins.ts";
import { createReport } from "./report.ts";
import { createRetry } from "./retry.ts";
import { createSlots, type Slots } from "./slots.ts";
import type { FleetAddress } from "./task-fleet.ts";

export interface PullDeps extends HeartbeatTopics {
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
  /** Where the spans of attempts go; absent where no collector is named. */
  tracer?: Tracer | undefined;
  /** Counts attempts as they end. */
  onTaskEnd?: ((workload: string, end: TaskEnd) => void) | undefined;
}

/** What a pull worker is at. */
interface PullFigures {
  slots: number;
  /** Slots with a batch, or held for a claim that is under way. */
  taken: number;
  /** Tasks that are claimed. */
  in_flight: number;
  /** Reports that the control plane has not answered. */
  reports: number;
  /** Workloads whose code does not load here. */
  broken: number;
}

export interface PullWorker {
  figures(): PullFigures;
  /** Takes no further tasks, lets the running ones end within `drain_ms`, gives the others back. Idempotent. */
  stop(drain_ms: number): Promise<void>;
}

/**
 * Joins the control plane and runs its tasks in `slots` slots (rules/pipeline-pull#what-a-worker-must-do). Reports are
 * kept and sent again until they are answered; what a stopping worker could not report is saved for the next
 * start.
 */
export function startPullWorker(deps: PullDeps): PullWorker {
  const { clock, log, random } = deps;
  const life = createLife();
  const flight = createFlight();
  const outbox = createOutbox();
  const settings = new Map<string, WorkloadSettings>();
  const broken = createBrokenExecutors(clock, () => leases.beatNow());
  const { create, pool, plugins } = openExecutors(deps, life.gone);
  const retry = createRetry({ life, clock, log, random, owes: () => outbox.size > 0 });
  const joining = createJoining({ ...deps, signal: life.gone });
  const membership = createMembership({
    joining,
    retry,
    log,
    hello: helloOf(deps),
    onJoined: () => {
      leases.paced();
      deps.onJoined?.();
    },
  });
  const report = createReport({ flight, outbox, broken, accepts: membership.accepts });
  const live = startLiveRuns({
    clock,
    log,
    tell: (items) => joining.client.tellLiveRuns(items),
    notes: () => membership.accepts("notes"),
  });
  const slots = createSlots({
    most: deps.slots,
    flight,
    pool,
    settingsOf: (workload) => settings.get(workload),
    stopping: life.stopping,
    tracer: deps.tracer,
    log,
    onBatch: ({ lease_ms }) => leases.begun(lease_ms),
    onBegin: ({ workload }, ...begun) => live.begin(workload, ...begun),
    onEnd: (batch, ended) => {
      deps.onTaskEnd?.(batch.workload, ended);
      live.end(ended.task);
      report(batch, ended);
      life.changed();
    },
    onFree: life.changed,
  });
  const checker = createChecker({
    create,
    log,
    stopping: life.stopping,
    answer: (found) => retry("the answer of a check", () => joining.client.answerCheck(found)),
    onFound: (checked, found) => {
      tellFound(broken, checked, found);
      life.changed();
    },
  });
  const obey = createObedience(log, { recycle: pool.recycle, stop: deps.onStop });
  const leases = keepLeases({
    clock,
    log,
    random,
    flight,
    idleMs: membership.heartbeatMs,
    untold: outbox.refs,
    beat: createHeartbeat({ joining, membership, broken, checker, obey, topics: deps }),
  });
  const exchanging = { joining, membership, life, slots, outbox, broken, settings, leases, log };
  const working = exchangeUntilStopped(exchanging);
  const stop = async (drain_ms: number): Promise<void> => {
    await drain({ clock, life, joining, slots, flight, outbox, working }, drain_ms);
    await joining.spool(outbox).catch((err) => log.error({ err }, "reports are lost"));
    await Promise.all([leases.stop(), live.stop(), checker.idle()]);
    await pool.close();
    await plugins.close();
  };
  return {
    figures: () => figuresOf(deps.slots, { slots, flight, outbox, broken }),
    stop: onlyOnce(stop),
  };
}

const figuresOf = (
  most: number,
  at: { slots: Slots; flight: Flight; outbox: Outbox; broken: BrokenExecutors },
): PullFigures => ({
  slots: most,
  taken: most - at.slots.free(),
  in_flight: at.flight.size(),
  reports: at.outbox.size,
  broken: at.broken.list().length,
});

/** Whoever asks again waits for the same end. */
function onlyOnce(stop: PullWorker["stop"]): PullWorker["stop"] {
  let stopped: Promise<void> | undefined;
  return (drain_ms) => {
    stopped ??= stop(drain_ms);
    return stopped;
  };
}

/** What a check found holds as what a load found does. */
function tellFound(
  broken: BrokenExecutors,
  { slug, revision }: WorkloadSettings,
  found: { error: string; trace: string } | null,
): void {
  if (found) broken.mark(slug, revision, found.error, found.trace);
  else broken.clear(slug);
}

const helloOf = ({ slots, version, workloads = [] }: PullDeps): MembershipDeps["hello"] => ({
  host: hostname(),
  slots,
  version,
  labels: {},
  workloads: [...workloads],
});

/** Whatever runs a workload's code: warm executors for the slots, and single ones for checks. */
function openExecutors(deps: PullDeps, gone: AbortSignal) {
  const { clock, log, slots, environment } = deps;
  const plugins = createWorkerPlugins({ ...deps, signal: gone });
  const create = (workload: WorkloadSettings) =>
    plugins.createExecutor(workload, (settings, more) =>
      createExecutor({ ...deps, environment: { ...environment, ...more } }, settings),
    );
  return { plugins, create, pool: createExecutorPool({ most: slots, clock, log, create }) };
}
