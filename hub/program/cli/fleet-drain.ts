import { everyItem, type Http } from "#shared/client/http.ts";
import type { Clock } from "#shared/kit/clock.ts";
import type { Worker } from "#shared/protocol/schema/worker.ts";
import { EXIT, UsageError } from "./exit.ts";
import { printable, type Terminal } from "./print.ts";

export interface DrainDeps {
  client: Http;
  terminal: Terminal;
  clock: Clock;
  /** Stops waiting; the workers stay as they are. */
  signal: AbortSignal;
}

const STATUS_OF = { drain: "drain", activate: "active" } as const;
export type DrainWord = keyof typeof STATUS_OF;
export const isDrainWord = (word: string | undefined): word is DrainWord =>
  word !== undefined && word in STATUS_OF;

const LOOK_MS = 1_000;

const listWorkers = (client: Http): Promise<Worker[]> =>
  everyItem(client, "GET /workers", "workers");

/** The named workers, or all present ones that need the change. @throws UsageError for an unknown name */
function pick(all: Worker[], word: DrainWord, ids: string[]): Worker[] {
  const unknown = ids.find((id) => all.every(({ worker_id }) => worker_id !== id));
  if (unknown !== undefined) throw new UsageError(`fleet ${word}: there is no worker ${unknown}`);
  if (ids.length > 0) return all.filter(({ worker_id }) => ids.includes(worker_id));
  if (word === "activate") return all.filter(({ status }) => status === "drain");
  // A worker in standby takes nothing new anyway.
  return all.filter(({ alive, status }) => alive && status !== "standby");
}

/** What still runs there: leased lanes, and jobs that have returned their lane but are still uploading. */
async function inUse(client: Http, worker: Worker): Promise<number> {
  if (worker.in_flight > 0) return worker.in_flight;
  const query = { status: "running", worker_id: worker.worker_id, limit: 1 } as const;
  return (await client.call("GET /jobs", { query })).jobs.length;
}

/** @returns false when `signal` came first. */
async function waitUntilIdle(deps: DrainDeps, ids: ReadonlySet<string>): Promise<boolean> {
  const { client, terminal, clock, signal } = deps;
  for (let said = ""; !signal.aborted; await clock.sleep(LOOK_MS, signal)) {
    const workers = (await listWorkers(client)).filter(({ worker_id }) => ids.has(worker_id));
    const counts = await Promise.all(workers.map((worker) => inUse(client, worker)));
    const busy = workers.flatMap(({ worker_id }, i) =>
      counts[i] === 0 ? [] : [`${worker_id} (${counts[i]})`],
    );
    if (busy.length === 0) return true;
    const line = `waiting for jobs and sessions on ${busy.join(", ")}`;
    if (line !== said) terminal.err(`${printable(line)}\n`);
    said = line;
  }
  return false;
}

/**
 * `flotilla fleet drain [WORKER…]`: makes browser workers take nothing new, and returns when nothing runs on them any
 * more; jobs that come meanwhile wait in the queue. `activate` lets them work again. Empty `ids` mean all workers.
 * @returns the exit code (`EXIT`).
 */
export async function runDrain(
  deps: DrainDeps,
  word: DrainWord,
  ids: string[],
  json: boolean,
): Promise<number> {
  const { client, terminal } = deps;
  const before = await listWorkers(client);
  const names = pick(before, word, ids).map(({ worker_id }) => worker_id);
  const status = STATUS_OF[word];
  for (const worker of before.filter(({ worker_id }) => names.includes(worker_id)))
    if (worker.status !== status)
      await client.call("POST /workers/{id}/status", {
        params: { id: worker.worker_id },
        json: { status },
      });
  // Workers in standby may still run what they had taken.
  const awaited = ids.length > 0 ? names : before.map(({ worker_id }) => worker_id);
  const listed = printable(names.join(" "));
  if (word === "drain" && !(await waitUntilIdle(deps, new Set(awaited)))) {
    terminal.err(`flotilla: stopped waiting; these workers still drain: ${listed}\n`);
    return EXIT.failed;
  }
  if (json) terminal.out(`${JSON.stringify({ workers: names, status }, null, 2)}\n`);
  else if (names.length === 0) terminal.out(`no worker to ${word}\n`);
  else if (word === "activate") terminal.out(`active: ${listed}\n`);
  else
    terminal.out(
      `drained: nothing runs on them. To let them work again: flotilla fleet activate ${listed}\n`,
    );
  return EXIT.ok;
}
