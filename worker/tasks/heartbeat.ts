import type { Log } from "#shared/kit/log.ts";
import type { PullHeartbeat, WorkerCommand } from "#shared/protocol/schema/pull.ts";
import type { UpdateOrder, UpdateReport } from "#shared/protocol/schema/updates.ts";
import type { BrokenExecutors } from "./broken-executors.ts";
import type { Checker } from "./check-executor.ts";
import type { Ref } from "./client.ts";
import type { Joining } from "./joining.ts";
import type { KeepLeasesDeps } from "./keep-leases.ts";
import type { Membership } from "./membership.ts";

/** What a worker and the rest of its program exchange with heartbeats. */
export interface HeartbeatTopics {
  /** Load of this worker and of its host. */
  load?: () => Promise<
    Pick<PullHeartbeat, "cpu_percent" | "host_cpu_percent" | "mem_percent" | "gpus">
  >;
  /** For a worker that the control plane updates: what the worker reports about it, and its orders. */
  update?: PullUpdate;
  /** Called with the control plane's version at every heartbeat, if the control plane does not order updates. */
  onVersion?: (version: string) => void;
}

export interface PullUpdate {
  report(): UpdateReport | null;
  obey(order: UpdateOrder): void;
}

export interface HeartbeatDeps {
  joining: Joining;
  membership: Membership;
  broken: BrokenExecutors;
  checker: Checker;
  obey(commands: readonly WorkerCommand[]): void;
  topics: HeartbeatTopics;
}

/** One heartbeat: what the worker reports, and what it does with the answer. */
export function createHeartbeat(deps: HeartbeatDeps): KeepLeasesDeps["beat"] {
  const { joining, membership, topics } = deps;
  const { update } = topics;
  return async (in_flight): Promise<Ref[]> => {
    await membership.register();
    const load = (await topics.load?.()) ?? {};
    const said = membership.accepts("broken") ? { broken: deps.broken.list() } : {};
    const told = update && membership.accepts("update") && { update: { report: update.report() } };
    const answer = await joining.client
      .heartbeat({ in_flight, ...load, ...said, ...told })
      .catch((err) => {
        membership.noticeRefusal(err);
        throw err;
      });
    const { lost, commands, checks, version } = answer;
    deps.checker.begin(checks);
    if (answer.update) update?.obey(answer.update);
    // Where the control plane orders updates, its orders decide, even before the first one.
    else if (version !== undefined && !told) topics.onVersion?.(version);
    deps.obey(commands);
    return lost;
  };
}

/**
 * Obeys each command once, although every heartbeat repeats it until it is too old. Those without a deed concern the
 * control plane alone.
 */
export function createObedience(
  log: Log,
  deeds: Partial<Record<WorkerCommand["command"], () => unknown>>,
): HeartbeatDeps["obey"] {
  let obeyed = "";
  const obey = async ({ command_id, command }: WorkerCommand): Promise<void> => {
    if (command_id === obeyed) return;
    obeyed = command_id;
    log.info({ command }, "command from an operator");
    await deeds[command]?.();
  };
  return (commands) => {
    for (const command of commands)
      void obey(command).catch((err) => log.error({ err, ...command }, "a command failed"));
  };
}
