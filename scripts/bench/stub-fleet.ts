import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { startLoop } from "#shared/kit/loop.ts";
import { connectStubWorker, type StubWorker } from "./stub-jobs.ts";

/**
 * A process full of stub workers, driven over IPC by `startStubFleet`: the hubs' figures must not hold the workers' work.
 * `bun scripts/bench/stub-fleet.ts WORKERS LANES HEARTBEAT_MS HUB…`
 */
export type StubCommand = { say: "heartbeats"; rounds: number } | { say: "counts" };
export type StubAnswer =
  | { said: "ready"; ms: number }
  | { said: "heartbeats"; ms: number; count: number }
  | { said: "counts"; assigned: number; lost: number };

/** Handshakes at a time: a thousand at once would measure the sockets' backlog. */
const CONNECTING = 32;
/** In so many portions the workers send their heartbeats. */
const STEPS = 30;
const ROUND_MS = 60_000;

async function main(args: string[]): Promise<void> {
  const [count = 0, lanes = 0, heartbeat_ms = 0] = args.slice(0, 3).map(Number);
  const hubs = args.slice(3);
  const workers: StubWorker[] = [];
  let assigned = 0;
  let lost = 0;
  const tell = (answer: StubAnswer) => process.send?.(answer);

  const started = performance.now();
  let next = 0;
  const connect = async () => {
    while (next < count) {
      const i = next;
      next += 1;
      const worker = await connectStubWorker(hubs[i % hubs.length] ?? "", `stub${i}`, lanes);
      worker.onAssigned = () => {
        assigned += 1;
      };
      worker.onClosed = () => {
        lost += 1;
      };
      workers.push(worker);
    }
  };
  await Promise.all(Array.from({ length: CONNECTING }, connect));
  tell({ said: "ready", ms: performance.now() - started });
  // Spread over the interval, as workers that started at different times are.
  let step = 0;
  startLoop({
    name: "heartbeats",
    everyMs: heartbeat_ms / STEPS,
    clock: systemClock,
    log: silentLog,
    pass: async () => {
      for (let i = step; i < workers.length; i += STEPS) workers[i]?.heartbeat();
      step = (step + 1) % STEPS;
    },
  });

  process.on("message", async (command: StubCommand) => {
    if (command.say === "counts") return tell({ said: "counts", assigned, lost });
    const from = performance.now();
    await Promise.all(
      workers.map(async (worker) => {
        for (let i = 0; i < command.rounds; i += 1) await worker.acknowledged(ROUND_MS);
      }),
    );
    const ms = performance.now() - from;
    return tell({ said: "heartbeats", ms, count: command.rounds * count });
  });
  process.on("disconnect", () => process.exit(0));
}

export interface StubFleet {
  /** How long the handshakes of all took. */
  connect_ms: number;
  ask<S extends StubAnswer["said"]>(command: StubCommand): Promise<StubAnswer & { said: S }>;
  stop(): Promise<void>;
}

const READY_MS = 120_000;

/** Starts the process and waits until every worker is registered; worker i dials hub i modulo their number. */
export async function startStubFleet(
  hubs: string[],
  { workers, lanes, heartbeat_ms }: { workers: number; lanes: number; heartbeat_ms: number },
): Promise<StubFleet> {
  let answered: (answer: StubAnswer) => void = () => {};
  let broke: (err: Error) => void = () => {};
  const answer = () =>
    new Promise<StubAnswer>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("the stub workers do not answer")), READY_MS);
      answered = (given) => {
        clearTimeout(timer);
        resolve(given);
      };
      broke = reject;
    });
  const ready = answer();
  const child = Bun.spawn(
    [process.execPath, import.meta.path, ...[workers, lanes, heartbeat_ms].map(String), ...hubs],
    { stdio: ["ignore", "inherit", "inherit"], ipc: (message: StubAnswer) => answered(message) },
  );
  void child.exited.then((code) => broke(new Error(`the stub workers ended with ${code}`)));
  const stop = async () => {
    child.kill();
    await child.exited;
  };
  try {
    const first = await ready;
    return {
      connect_ms: first.said === "ready" ? first.ms : NaN,
      ask: async (command) => {
        const told = answer();
        child.send(command);
        return (await told) as never; // each command has one answer, of its own name
      },
      stop,
    };
  } catch (err) {
    await stop();
    throw err;
  }
}

if (import.meta.main) await main(process.argv.slice(2));
