import type { HubConfig } from "#hub/platform/config.ts";
import { isoTime } from "#shared/kit/clock.ts";
import type { FleetUpdates, WorkerUpdate } from "#shared/protocol/schema/updates.ts";
import { heldBack, hubsAgree, isActive, isWaiting, type SeenWorker, wantedOf } from "./decide.ts";
import type { RolloutState, Turn } from "./state.ts";
import { turnKey } from "./state.ts";

/** What was last seen and decided. */
export interface RolloutLook {
  state: RolloutState;
  workers: readonly SeenWorker[];
  hub_versions: readonly string[];
}

const shown = (turn: Turn, state: WorkerUpdate["state"], error = turn.error): WorkerUpdate => ({
  target: turn.target,
  state,
  error,
  since: isoTime(turn.since),
});

/** Progress of a worker's update; null while it has the version it should have and there is nothing to report. */
export function updateOf(
  state: RolloutState,
  named: Pick<SeenWorker, "kind" | "worker_id">,
  worker: SeenWorker | null,
): WorkerUpdate | null {
  const turn = state.turns[turnKey(named)];
  if (turn?.state === "failed" || turn?.state === "off") return shown(turn, turn.state);
  if (turn?.state === "proving")
    return shown(turn, worker ? "proving" : "restarting", worker?.unwell);
  const report = worker?.report ?? null;
  if (turn?.state === "ordered") {
    if (!worker) return shown(turn, "restarting");
    const told = report?.target === turn.target ? report : null;
    return told ? shown(turn, told.state, told.error) : shown(turn, "starting");
  }
  const wanted = wantedOf(state, named.worker_id);
  if (!worker || wanted === null || worker.version === wanted) return null;
  const since = null;
  if (report?.off) return { target: wanted, state: "off", error: report.error, since };
  // A worker of an earlier version updates by itself.
  if (!worker.waits_for_order) return report && { ...pick(report), since };
  return { target: wanted, state: "held", error: null, since };
}

const pick = ({ target, state, error }: NonNullable<SeenWorker["report"]>) => ({
  target,
  state,
  error,
});

/** Answer of GET /updates. */
export function viewUpdates(look: RolloutLook, config: HubConfig["updates"]): FleetUpdates {
  const { state, hub_versions } = look;
  const [stage, detail] = stageOf(look, config);
  const { failure, paused_since } = state;
  return {
    state: stage,
    detail,
    target: state.pin ?? state.target,
    hub_versions: [...hub_versions],
    paused_since: paused_since === null ? null : isoTime(paused_since),
    pin: state.pin,
    worker_pins: state.worker_pins,
    parallel: config.parallel,
    approval: config.approval,
    failure: failure && { ...failure, at: isoTime(failure.at) },
    workers: listed(look),
  };
}

function listed({ state, workers }: RolloutLook): FleetUpdates["workers"] {
  const known = new Map<string, SeenWorker | null>(workers.map((one) => [turnKey(one), one]));
  for (const turn of Object.values(state.turns))
    if (!known.has(turnKey(turn))) known.set(turnKey(turn), null);
  return [...known].flatMap(([key, worker]) => {
    const turn = state.turns[key];
    const named = worker ?? turn;
    const update = named && updateOf(state, named, worker);
    if (!named || !update) return [];
    const { kind, worker_id } = named;
    return [
      { kind, worker_id, version: worker?.version ?? null, canary: turn?.canary ?? false, update },
    ];
  });
}

/** What happens now, and what the roll-out waits for. */
function stageOf(
  { state, workers, hub_versions }: RolloutLook,
  { approval }: HubConfig["updates"],
): [FleetUpdates["state"], string] {
  const target = state.pin ?? state.target ?? "unknown";
  const active = Object.values(state.turns).filter(isActive);
  const waiting = workers.filter((worker) => isWaiting(state, worker));
  const left = `${waiting.length} ${waiting.length === 1 ? "worker waits" : "workers wait"}`;
  const held = heldBack(state, { hub_versions });
  if (held === "stopped" && state.failure) {
    const { worker_id, version, error } = state.failure;
    const next =
      "The other workers keep their version until the hub has another one, or somebody approves this one.";
    return ["stopped", `Worker ${worker_id} failed to update to ${version}: ${error}. ${next}`];
  }
  if (held === "paused") return ["paused", `Nobody is sent to another version; ${left}.`];
  if (held === "waiting_for_hubs" && !hubsAgree(hub_versions))
    return [
      "waiting_for_hubs",
      `The hubs have several versions (${[...new Set(hub_versions)].join(", ")}); workers follow when all have the same.`,
    ];
  const canary = active.find((turn) => turn.canary);
  if (canary) return ["canary", `${canaryWords(canary)} ${left} until it has shown that it works.`];
  if (active.length > 0) {
    const names = active.map(({ worker_id }) => worker_id).join(", ");
    return ["rolling", `Under way to ${target}: ${names}; ${left}.`];
  }
  const unproven = waiting.filter(({ kind }) => !state.proven.includes(kind));
  if (
    waiting.length > 0 &&
    unproven.length === 0 &&
    approval === "manual" &&
    state.approved !== target
  )
    return [
      "waiting_for_approval",
      `The canary works on ${target}; ${left} for somebody to approve it.`,
    ];
  if (waiting.length > 0) return ["rolling", `${left} to go to ${target}.`];
  return ["up_to_date", `No worker waits for an update; the fleet's version is ${target}.`];
}

const canaryWords = ({ worker_id, target, state }: Turn): string =>
  state === "proving"
    ? `Canary ${worker_id} is back on ${target} and is to do a job.`
    : `Canary ${worker_id} goes to ${target}.`;
