import type { Clock } from "#shared/kit/clock.ts";
import { AppError, conflict, invalid } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import type { FleetUpdates, PinUpdate } from "#shared/protocol/schema/updates.ts";
import { WORKER_KINDS } from "#shared/protocol/schema/updates.ts";
import type { Rollout } from "./rollout.ts";
import { type RolloutState, turnKey } from "./state.ts";
import { viewUpdates } from "./view.ts";

/** Commands by which an operator steers updates; each takes effect at every hub within two seconds. */

interface CommandContext {
  rollout: Rollout;
  clock: Clock;
  log: Log;
}

const answer = async ({ rollout, log }: CommandContext): Promise<FleetUpdates> => {
  // The effect shows at once; if this check fails, the next one comes by itself.
  await rollout.pass().catch((err) => log.warn({ err }, "the fleet could not be looked at"));
  return viewUpdates(rollout.look(), rollout.config);
};

/** Sends no further worker; those already on the way finish. */
export async function pauseUpdates(ctx: CommandContext): Promise<FleetUpdates> {
  await ctx.rollout.change((state) => {
    state.paused_since ??= ctx.clock.now();
  });
  ctx.log.warn({}, "updates are paused");
  return answer(ctx);
}

export async function resumeUpdates(ctx: CommandContext): Promise<FleetUpdates> {
  await ctx.rollout.change((state) => {
    state.paused_since = null;
  });
  ctx.log.info({}, "updates go on");
  return answer(ctx);
}

/**
 * Lets the roll-out go on after a failure, or where approval is asked for. Workers that ran the version and went back
 * keep their old one; the others that failed try again.
 * @throws AppError conflict when another version is being rolled out
 */
export async function approveUpdate(
  ctx: CommandContext,
  version: string | undefined,
): Promise<FleetUpdates> {
  await ctx.rollout.change((state) => {
    const target = state.pin ?? state.target;
    if (target === null) throw conflict("no version is being rolled out");
    if (version !== undefined && version !== target)
      throw conflict(`the version that is rolled out is ${target}, not ${version}`);
    state.approved = target;
    state.failure = null;
    for (const [key, turn] of Object.entries(state.turns))
      if (turn.state === "failed" && !turn.rolled_back) delete state.turns[key];
  });
  ctx.log.warn({ version }, "the roll-out was approved");
  return answer(ctx);
}

/** Versions that a worker can be ordered to take: those of the hubs, of workers, and those it had before. */
const known = ({ rollout }: CommandContext, state: RolloutState): Set<string> => {
  const { hub_versions, workers } = rollout.look();
  const before = Object.values(state.turns).map(({ from }) => from);
  return new Set([...hub_versions, ...workers.map((w) => w.version), ...before, ...state.history]);
};

/**
 * Keeps the fleet, or one worker, at a version, whatever the hub's is; null returns to the hub's.
 * @throws AppError invalid for a version that no hub and no worker has or had, not_found for an unknown worker
 */
export async function pinUpdate(
  ctx: CommandContext,
  { version, worker_id }: PinUpdate,
): Promise<FleetUpdates> {
  const { workers } = ctx.rollout.look();
  await ctx.rollout.change((state) => {
    const versions = known(ctx, state);
    if (version !== null && !versions.has(version))
      throw invalid(
        ["body", "version"],
        `is none that a hub or a worker has: ${[...versions].sort().join(", ")}`,
      );
    if (worker_id === undefined) {
      state.pin = version;
      return;
    }
    const here = WORKER_KINDS.some((kind) =>
      workers.some((one) => turnKey(one) === turnKey({ kind, worker_id })),
    );
    if (version !== null && !here)
      throw new AppError("not_found", `no worker ${worker_id} is connected`);
    const { [worker_id]: _before, ...others } = state.worker_pins;
    state.worker_pins = version === null ? others : { ...others, [worker_id]: version };
  });
  ctx.log.warn(
    { version, worker_id },
    version === null ? "a pin was taken away" : "a version was pinned",
  );
  return answer(ctx);
}
