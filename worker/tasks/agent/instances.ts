import { type Clock, isoTimeOrNull } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import { type SupervisedChild, superviseChild } from "#shared/kit/supervise-child.ts";
import type { DesiredInstance, InstanceReport } from "#shared/protocol/schema/agent.ts";

export interface InstancesDeps {
  /** Command line and environment of an instance. */
  launch(instance: DesiredInstance): { argv: string[]; env: Record<string, string> };
  /** How long the drain of an instance may take before it is killed. */
  term_ms: number;
  clock: Clock;
  log: Log;
  /** Called at every change of a child. */
  onChange(): void;
}

export interface Instances {
  /** Starts what is missing, stops what is not wanted, and restarts what is wanted differently. Returns immediately. */
  want(desired: readonly DesiredInstance[]): void;
  report(): InstanceReport[];
  /** Forgets those that have ended and were reported as ended. */
  told(report: readonly InstanceReport[]): void;
  /** Stops every child and waits for the end. */
  stop(): Promise<void>;
}

interface Entry {
  /** The specification it was started with. */
  key: string;
  child: SupervisedChild;
  stopping: Promise<void> | null;
  /** Stopped, and its process is gone. */
  over: boolean;
}

/**
 * The worker processes of a host (rules/pipeline-agents#what-an-agent-does): one child per instance, kept running until
 * it is not wanted.
 */
export function createInstances(deps: InstancesDeps): Instances {
  const entries = new Map<string, Entry>();
  let wanted: readonly DesiredInstance[] = [];

  const start = (instance: DesiredInstance): Entry => {
    const { instance_id } = instance;
    const child = superviseChild({
      name: instance_id,
      ...deps.launch(instance),
      log: deps.log,
      clock: deps.clock,
      termDeadlineMs: deps.term_ms,
      onChange: deps.onChange,
    });
    return { key: JSON.stringify(instance), child, stopping: null, over: false };
  };
  const end = (entry: Entry): void => {
    entry.stopping ??= entry.child.stop().then(() => {
      entry.over = true;
      reconcile();
      deps.onChange();
    });
  };
  const reconcile = (): void => {
    const byId = new Map(wanted.map((instance) => [instance.instance_id, instance]));
    for (const [id, entry] of entries) {
      const instance = byId.get(id);
      if (!instance || JSON.stringify(instance) !== entry.key) end(entry);
    }
    for (const [id, instance] of byId) {
      const entry = entries.get(id);
      // A name has one process at a time: the next one waits until the previous one has ended.
      if (!entry || entry.over) entries.set(id, start(instance));
    }
  };
  return {
    want: (desired) => {
      wanted = desired;
      reconcile();
    },
    report: () =>
      [...entries].map(([instance_id, { child }]) => {
        const { started_at, ...view } = child.view;
        return { instance_id, ...view, started_at: isoTimeOrNull(started_at) };
      }),
    told: (report) => {
      for (const { instance_id, state } of report)
        if (state === "exited" && entries.get(instance_id)?.over) entries.delete(instance_id);
    },
    stop: async () => {
      wanted = [];
      reconcile();
      await Promise.all([...entries.values()].map((entry) => entry.stopping));
    },
  };
}
