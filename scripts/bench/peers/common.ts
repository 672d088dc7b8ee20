/**
 * Every peer is one process that runs one scenario against an empty store and prints one line of JSON:
 *   bun scripts/bench/peers/NAME.ts '{"scenario":"submit|drain|pickup","url":"…","tasks":20000,"batch":10000,…}'
 */
export interface Job {
  scenario: "submit" | "drain" | "pickup";
  url: string;
  tasks: number;
  /** Tasks of one insert. */
  batch: number;
  /** A way to run the peer: its documented best, or its defaults. */
  variant: string;
}

export const job = JSON.parse(process.argv[2] ?? "{}") as Job;
/** 256 bytes of JSON, as the control plane gets them. */
export const PAYLOAD = { text: "x".repeat(244) };

export const print = (result: unknown): void => console.log(JSON.stringify(result));

/** Calls `add` for all tasks in batches, one after the other; tasks per second. */
export async function timedSubmit(add: (from: number, n: number) => unknown): Promise<number> {
  const start = performance.now();
  for (let at = 0; at < job.tasks; at += job.batch)
    await add(at, Math.min(job.batch, job.tasks - at));
  return (job.tasks / (performance.now() - start)) * 1_000;
}

/** Counts handled tasks; `all` resolves when every one was, `count` is the handler. */
export function counter(n = job.tasks) {
  const all = Promise.withResolvers<void>();
  let handled = 0;
  return {
    all: all.promise,
    count: (by = 1): void => {
      handled += by;
      if (handled >= n) all.resolve();
    },
  };
}

/** Asks every 2 ms until it is so: done is what the store says, not what the handler saw. */
export async function until(check: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await check())) await Bun.sleep(2);
}

/** One task at a time, each submitted to an idle worker; milliseconds from the call to the handler. */
export async function pickups(submit: () => unknown, onStart: (told: () => void) => void): Promise<number[]> {
  const times: number[] = [];
  let started = Promise.withResolvers<number>();
  onStart(() => started.resolve(performance.now()));
  const WARM = 20;
  for (let i = 0; i < job.tasks + WARM; i += 1) {
    started = Promise.withResolvers();
    const sent = performance.now();
    await submit();
    const ms = (await started.promise) - sent;
    if (i >= WARM) times.push(ms);
    await Bun.sleep(5);
  }
  return times;
}
