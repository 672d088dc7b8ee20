import { endsWithin, systemClock } from "#shared/kit/clock.ts";
import { isAlive, type ProcStat } from "#shared/kit/proc.ts";
import { signalGroup } from "#shared/kit/signal-group.ts";
import { reapOrphans } from "./reap.ts";
import { findByTag } from "./tagged.ts";

/** A process that leads its own session, and the tag that everything it starts inherits. */
export interface ProcessGroup {
  pid: number;
  tag: string;
  /** Resolves when the leader is gone. */
  exited: Promise<unknown>;
}

export interface EndOptions {
  /** Asks the leader to exit by itself; null skips to SIGKILL. */
  ask: (() => Promise<unknown>) | null;
  /** How long it may take to exit when asked; 1 s by default. */
  ask_ms?: number;
  /** Whether to send SIGTERM before SIGKILL. */
  term: boolean;
}

const STEP_MS = 1_000;
/** With a load of 45 on two cores the kernel took more than 5 s to take everything of a browser away. */
const GONE_MS = 20_000;

/**
 * Ends a whole group: ask (1 s) → SIGTERM (1 s) → SIGKILL, then looks through /proc until nothing with its session or tag
 * is alive, because helpers may have left the group.
 * @throws when something survives SIGKILL for 20 s (a process stuck in the kernel).
 */
export async function endGroup(group: ProcessGroup, options: EndOptions): Promise<void> {
  const gone = group.exited.then(() => true);
  // A leader that is already gone must not be signalled: its pid may belong to another process by now.
  let left = await within(0, gone);
  if (!left && options.ask) {
    const asked = options.ask().then(
      () => gone,
      () => gone,
    );
    left = await within(options.ask_ms ?? STEP_MS, asked);
  }
  if (!left && options.term) {
    signalGroup(group.pid, "SIGTERM");
    left = await within(STEP_MS, gone);
  }
  if (!left) {
    signalGroup(group.pid, "SIGKILL");
    await within(GONE_MS, gone);
  }
  await endStragglers((tag) => tag === group.tag, [group.pid]);
}

/** Kills every process with a matching tag or in one of `sessions`, and waits until none is alive. */
export async function endStragglers(
  match: (tag: string) => boolean,
  sessions: number[] = [],
): Promise<number> {
  const killed = new Set<number>();
  const end = performance.now() + GONE_MS;
  for (let wait = 1; ; wait = Math.min(wait * 2, 50)) {
    const found = findByTag(match, sessions);
    reapOrphans(found, (pid) => sessions.includes(pid));
    const alive = found.filter(isAlive);
    if (alive.length === 0) return killed.size;
    if (performance.now() > end) throw new Error(`survived SIGKILL: ${describe(alive)}`);
    for (const { pid } of alive) {
      killed.add(pid);
      signal(pid, "SIGKILL");
    }
    await systemClock.sleep(wait);
  }
}

const describe = (list: ProcStat[]) =>
  list.map((p) => `${p.pid} ${p.comm} (${p.state})`).join(", ");

/** What it resolves to in time, else false. */
const within = async (ms: number, promise: Promise<boolean>): Promise<boolean> =>
  (await endsWithin(systemClock, ms, promise)) && promise;

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It is already gone, as intended.
  }
}
