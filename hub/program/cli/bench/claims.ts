import { randomBytes } from "node:crypto";
import { FlotillaError } from "#shared/client/errors.ts";
import { UsageError } from "../exit.ts";
import { CLEAN_MS, type Part, timed } from "./part.ts";
import { type Measured, measured, rate } from "./stats.ts";

/**
 * One name for workload, worker and host: the workload may run on this host alone, and the worker may run nothing else, so
 * neither meets anything of the fleet's own.
 */
const NAME = "flotilla-bench";
const SLOTS = 16;
/** As `flotilla submit` sends at most. */
const BATCH = 10_000;

interface ClaimsAsked {
  count: number;
  /** For the calls of a worker; null where the hub asks for none. */
  secret: string | null;
}

async function addWorkload({ client, signal }: Part): Promise<void> {
  const json = {
    slug: NAME,
    description: "Created by flotilla bench, which deletes it.",
    executor_type: "command" as const,
    executor_config: { argv: ["true"] },
    host_affinity: [NAME],
  };
  await client.call("POST /api/v1/workloads", { json, signal }).catch((err) => {
    if (!(err instanceof FlotillaError) || err.status !== 409) throw err;
    throw new UsageError(
      `there is a workload ${NAME}: another benchmark runs, or one was cut off`,
      `flotilla workloads delete ${NAME} --yes --force`,
    );
  });
}

async function submitAll({ client, clock, signal }: Part, count: number): Promise<number> {
  const items = Array.from({ length: count }, (_, i) => ({ pk: String(i) }));
  let took = 0;
  for (let at = 0; at < count; at += BATCH) {
    const json = { items: items.slice(at, at + BATCH) };
    const [, ms] = await timed(clock, () =>
      client.call("POST /api/v1/workloads/{slug}/tasks/batch", {
        params: { slug: NAME },
        json,
        signal,
      }),
    );
    took += ms;
  }
  return took;
}

/** Claims and reports by turns, as a pull worker whose tasks take no time. */
async function drain(
  { client, clock, signal, progress }: Part,
  { count }: ClaimsAsked,
  incarnation: string,
  headers: Record<string, string>,
): Promise<{ times: number[]; reported: number }> {
  const times: number[] = [];
  let reported = 0;
  let told = 0;
  let done: { task_id: number; epoch: number; duration_ms: number }[] = [];
  let known: Record<string, string> = {};
  while (reported < count && !signal.aborted) {
    const json = { incarnation, done, want: { slots: SLOTS, wait_ms: 0, known } };
    const [answer, ms] = await timed(clock, () =>
      client.call("POST /api/v1/workers/{id}/exchange", {
        params: { id: NAME },
        headers,
        json,
        signal,
      }),
    );
    reported += answer.results.length;
    const tasks = answer.batches.flatMap((batch) => batch.tasks);
    if (tasks.length === 0 && done.length === 0 && reported < count)
      throw new Error(`only ${reported} of ${count} tasks could be claimed`);
    times.push(ms);
    done = tasks.map(({ task_id, epoch }) => ({ task_id, epoch, duration_ms: 0 }));
    known = Object.fromEntries([
      ...Object.entries(known),
      ...answer.workloads.map(({ slug, revision }) => [slug, revision]),
    ]);
    const tenth = Math.floor((reported * 10) / count);
    if (tenth > told) progress.step("claims", `${reported} of ${count}`);
    told = tenth;
  }
  return { times, reported };
}

/** Tasks of a queue: submitted, claimed in turns of sixteen, and reported, each turn one call. */
export async function benchClaims(part: Part, asked: ClaimsAsked): Promise<Measured[]> {
  const { client, clock, signal } = part;
  const incarnation = randomBytes(12).toString("hex");
  const headers: Record<string, string> = asked.secret ? { "x-worker-secret": asked.secret } : {};
  const worker = { params: { id: NAME }, headers };
  await addWorkload(part);
  try {
    const submit_ms = await submitAll(part, asked.count);
    const json = { incarnation, host: NAME, slots: SLOTS, version: "bench", workloads: [NAME] };
    await client.call("POST /api/v1/workers/{id}/register", { ...worker, json, signal });
    try {
      const [{ times, reported }, ms] = await timed(clock, () =>
        drain(part, asked, incarnation, headers),
      );
      return [
        measured("tasks, submitted in batches", [submit_ms], {
          per_s: rate(asked.count, submit_ms),
        }),
        measured(`tasks, ${SLOTS} claimed and reported`, times, { per_s: rate(reported, ms) }),
      ];
    } finally {
      const leave = { json: { incarnation, leaving: true }, timeout_ms: CLEAN_MS };
      await client.call("POST /api/v1/workers/{id}/drain", { ...worker, ...leave });
    }
  } finally {
    await client.call("DELETE /api/v1/workloads/{slug}", {
      params: { slug: NAME },
      query: { force: true },
      timeout_ms: CLEAN_MS,
    });
  }
}
