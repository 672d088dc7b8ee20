import type { z } from "zod";
import { newToken } from "#shared/protocol/ids.ts";
import type { Claimed, Exchanged } from "#shared/protocol/schema/pull.ts";
import type { ControlProcess } from "./control.ts";
import { openWire, type Wire } from "./wire.ts";

export const SLUG = "bench";
/** 256 bytes of JSON, as every peer gets them. */
export const PAYLOAD = { text: "x".repeat(244) };
const BATCH = 10_000;

/** A workload that no worker of its own runs: the clients of the benchmark speak the workers' protocol. */
export const addWorkload = (
  control: ControlProcess,
  fields: Record<string, unknown> = {},
): Promise<unknown> =>
  control.call("POST", "/workloads", {
    slug: SLUG,
    executor_type: "command",
    executor_config: { argv: ["true"] },
    ...fields,
  });

/** Bodies of POST …/tasks/batch for `n` tasks; made before the clock runs. */
export function batchBodies(n: number, fields: Record<string, unknown> = {}, from = 0): string[] {
  const bodies: string[] = [];
  for (let at = 0; at < n; at += BATCH) {
    const items = Array.from({ length: Math.min(BATCH, n - at) }, (_, i) => ({
      pk: `task-${from + at + i}`,
      extra: PAYLOAD,
      ...fields,
    }));
    bodies.push(JSON.stringify({ items }));
  }
  return bodies;
}

export async function submitBodies(control: ControlProcess, bodies: string[]): Promise<void> {
  const wire = await openWire(control.url);
  try {
    for (const body of bodies) await wire.post(`/api/v1/workloads/${SLUG}/tasks/batch`, body);
  } finally {
    wire.close();
  }
}

type Task = z.infer<typeof Claimed>["batches"][number]["tasks"][number];

/** A worker as the control plane knows one, without executors: a task is done as soon as it is there. */
export interface Puller {
  /** Reports `done`, and claims for `slots` slots; waits for work up to `wait_ms` when there is nothing to report. */
  exchange(done: readonly Task[], slots: number, wait_ms?: number): Promise<Task[]>;
  /** Over a connection of its own: the first one may be waiting. */
  beat(): Promise<void>;
  /** Reports that they failed for good. */
  fail(tasks: readonly Task[], workload: string): Promise<void>;
  close(): void;
}

let pullers = 0;

export async function openPuller(control: ControlProcess): Promise<Puller> {
  pullers += 1;
  const id = `bench-${pullers}`;
  const incarnation = newToken();
  const wire: Wire = await openWire(control.url);
  const path = `/api/v1/workers/${id}`;
  const hello = { incarnation, host: "bench", slots: 1, version: "1" };
  await wire.post(`${path}/register`, JSON.stringify(hello));
  let known = "{}";
  let beats: Promise<Wire> | null = null;
  return {
    exchange: async (done, slots, wait_ms = 0) => {
      const items = done
        .map((t) => `{"task_id":${t.task_id},"epoch":${t.epoch},"duration_ms":0,"output":{"n":1}}`)
        .join(",");
      const body = `{"incarnation":"${incarnation}","done":[${items}],"want":{"slots":${slots},"wait_ms":${wait_ms},"known":${known}}}`;
      const answer = JSON.parse(await wire.post(`${path}/exchange`, body)) as z.infer<
        typeof Exchanged
      >;
      for (const { status } of answer.results)
        if (status !== "ok") throw new Error("a report was refused");
      for (const { slug, revision } of answer.workloads)
        known = JSON.stringify({ [slug]: revision });
      return answer.batches.flatMap((batch) => batch.tasks);
    },
    beat: async () => {
      beats ??= openWire(control.url);
      await (await beats).post(
        `${path}/heartbeat`,
        JSON.stringify({ incarnation, cpu_percent: 1 }),
      );
    },
    fail: async (tasks, workload) => {
      const items = tasks.map(({ task_id, epoch }) => ({
        task_id,
        epoch,
        workload,
        duration_ms: 0,
        error: "for good",
        no_retry: true,
      }));
      await wire.post(`${path}/fail`, JSON.stringify({ incarnation, items }));
    },
    close: () => {
      wire.close();
      void beats?.then((open) => open.close());
    },
  };
}

/** Tasks for so many slots, none reported. */
export const claimed = (puller: Puller, slots: number): Promise<Task[]> =>
  puller.exchange([], slots);

/** `clients` workers at a time, each with one batch, until the queue is empty and every success is recorded; tasks. */
export const drainWith = (control: ControlProcess, clients: number): Promise<number> =>
  drainUpTo(control, clients, Number.POSITIVE_INFINITY);

/** Tasks per second of as many clients over some `n` tasks, out of a queue that holds more. */
export async function drainFor(
  control: ControlProcess,
  clients: number,
  n: number,
): Promise<number> {
  const start = performance.now();
  const drained = await drainUpTo(control, clients, n);
  if (drained < n) throw new Error(`only ${drained} of ${n} tasks were there`);
  return (drained / (performance.now() - start)) * 1_000;
}

async function drainUpTo(control: ControlProcess, clients: number, n: number): Promise<number> {
  const open = await Promise.all(Array.from({ length: clients }, () => openPuller(control)));
  let total = 0;
  let claims = 0;
  const work = async (puller: Puller) => {
    let done: Task[] = [];
    for (;;) {
      const next = await puller.exchange(done, claims < n ? 1 : 0);
      total += done.length;
      claims += next.length;
      if (next.length === 0) return;
      done = next;
    }
  };
  try {
    await Promise.all(open.map(work));
    return total;
  } finally {
    for (const puller of open) puller.close();
  }
}

/** The counts say that everything ran; a benchmark that lost a task has no figure. */
export async function requireDrained(control: ControlProcess, runs: number): Promise<void> {
  const counts = (await control.call("GET", `/workloads/${SLUG}/queue`)) as { total: number };
  if (counts.total !== 0) throw new Error(`${counts.total} tasks are left`);
  const newest = (await control.call("GET", `/workloads/${SLUG}/runs?limit=1`)) as {
    runs: { run_id: number }[];
  };
  if ((newest.runs[0]?.run_id ?? 0) < runs) throw new Error("runs are missing");
}
