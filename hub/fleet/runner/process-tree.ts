import type { Clock } from "#shared/kit/clock.ts";
import { childrenOf, isAlive, readStat } from "#shared/kit/proc.ts";
import { signalGroup } from "#shared/kit/signal-group.ts";

/** The processes of one run. */
export interface ProcessTree {
  /** `pid` was started and leads a process group. */
  begin(pid: number): void;
  /** Remembers the process below it: in bubblewrap the first of the sandbox, with which all others end. */
  look(): void;
  /** That process, once it has been seen. */
  first(): number | null;
  kill(): void;
  /** After the leader's exit: kills what stayed, and waits until the sandbox is gone. */
  end(clock: Clock): Promise<void>;
}

const GONE_MS = 5_000;
const LOOK_EVERY_MS = 5;

export function createTree(): ProcessTree {
  let leader: number | null = null;
  const below = new Set<number>();
  const look = () => {
    if (leader !== null) for (const pid of childrenOf(leader)) below.add(pid);
  };
  const kill = () => {
    look();
    for (const pid of below) killOne(pid);
    signalGroup(leader, "SIGKILL");
  };
  return {
    begin: (pid) => {
      leader = pid;
    },
    look,
    first: () => below.values().next().value ?? null,
    kill,
    end: async (clock) => {
      kill();
      leader = null;
      for (let waited = 0; waited < GONE_MS; waited += LOOK_EVERY_MS) {
        // Once the first of a sandbox has ended, a zombie or gone, all others have.
        if (![...below].some((pid) => isAlive(readStat(pid)))) break;
        await clock.sleep(LOOK_EVERY_MS);
      }
      below.clear();
    },
  };
}

function killOne(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Gone already.
  }
}
