import { parseArgs } from "node:util";
import { type Client, createClient } from "flotilla";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Attempt } from "#shared/protocol/schema/attempt.ts";
import { type FleetProcesses, startFleet } from "#test/support/rigs/fleet-process.ts";
import { TASKS } from "#test/support/tasks/list.ts";
import { startTaskServer, type TaskServer } from "#test/support/tasks/server.ts";
import type { Task, TaskAsset } from "#test/support/tasks/task.ts";
import { type AttemptScore, passesAt, type TaskScore, tableOf } from "./codegen-score.ts";

/** The fixed task set in mode codegen-loop against any engine: pass@1 and pass@k, time and tokens. */
const USAGE = `bun scripts/bench/codegen.ts --url URL --model NAME [options]

  --url URL           the engine's endpoint, as PUT /engines/{slug} takes it
  --model NAME
  --api-key-env VAR   variable of this process with the engine's key
  --kind KIND         chat (default), vision-chat or reasoning
  --only TASK,…       these tasks alone: ${TASKS.map(({ name }) => name).join(", ")}
  --attempts N        attempts of a task, 1 to 10; default 3
  --at-once N         tasks at a time, 1 to 3; default 1
  --timeout S         attempt_timeout_s, from 30; default 180
  --log               tell what each attempt did wrong`;

const KINDS = ["chat", "vision-chat", "reasoning"];
/** Waiting for an engine and a run, for each attempt; a job that takes longer hangs. */
const ENGINE_S = 600;

function readOptions() {
  const { values } = parseArgs({
    options: {
      url: { type: "string" },
      model: { type: "string" },
      "api-key-env": { type: "string" },
      kind: { type: "string", default: "chat" },
      only: { type: "string" },
      attempts: { type: "string", default: "3" },
      "at-once": { type: "string", default: "1" },
      timeout: { type: "string", default: "180" },
      log: { type: "boolean", default: false },
    },
  });
  const whole = (name: "attempts" | "at-once" | "timeout", min: number, max: number): number => {
    const value = Number(values[name]);
    if (Number.isInteger(value) && value >= min && value <= max) return value;
    throw new Error(`--${name} needs a whole number from ${min} to ${max}`);
  };
  const { url, model, kind, log, "api-key-env": api_key_env = null } = values;
  if (!url || !model) throw new Error("--url and --model are needed");
  if (!KINDS.includes(kind)) throw new Error(`--kind is one of ${KINDS.join(", ")}`);
  if (api_key_env !== null && !process.env[api_key_env])
    throw new Error(`the variable ${api_key_env} of --api-key-env is not set`);
  const names = values.only?.split(",");
  const unknown = names?.find((name) => !TASKS.some((task) => task.name === name));
  if (unknown !== undefined) throw new Error(`there is no task ${unknown}`);
  return {
    engine: { endpoint: url, model, kind, api_key_env },
    log,
    tasks: TASKS.filter(({ name }) => names?.includes(name) ?? true),
    attempts: whole("attempts", 1, 10),
    at_once: whole("at-once", 1, 3),
    timeout_s: whole("timeout", 30, 864_000),
  };
}

type Options = ReturnType<typeof readOptions>;

interface Bench extends Options {
  fleet: FleetProcesses;
  site: TaskServer;
  client: Client;
}

async function ask<T>({ fleet }: Bench, method: string, path: string, body?: object): Promise<T> {
  const answer = await fetch(fleet.url + path, {
    method,
    signal: AbortSignal.timeout(60_000),
    ...(body && {
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
    }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return JSON.parse(text) as T;
}

/** One job for the task, and what the task itself says of each of its attempts. */
async function runTask(bench: Bench, task: Task): Promise<TaskScore> {
  const { client, site, attempts, timeout_s } = bench;
  const since = performance.now();
  const { job_id } = await client.jobs.submit(
    {
      url: site.urlOf(task, task.name),
      options: {
        mode: "codegen-loop",
        goal: task.goal,
        max_codegen_attempts: attempts,
        attempt_timeout_s: timeout_s,
        codegen_engine: "bench",
      },
    },
    { patience_ms: 0 },
  );
  const timeout_ms = attempts * (timeout_s + ENGINE_S) * 1_000 * bench.tasks.length;
  const job = await client.jobs.wait(job_id, { timeout_ms });
  const ms = performance.now() - since;
  const scores: AttemptScore[] = [];
  for (let n = 1; n <= job.attempts; n += 1)
    scores.push(
      await scoreOf(bench, task, await ask(bench, "GET", `/jobs/${job_id}/attempts/${n}`)),
    );
  return { task: task.name, ms, attempts: scores, error: scores.length === 0 ? job.error : null };
}

async function scoreOf(bench: Bench, task: Task, attempt: Attempt): Promise<AttemptScore> {
  const { jobs } = bench.client;
  const { job_id, n, result, verdict, tokens } = attempt;
  // What an attempt saved, a later one may have replaced: only the last one's files are sure to be its own.
  const assets: TaskAsset[] = (await jobs.assets(job_id)).map(({ name, mime }) => ({
    name,
    mime,
    read: async () => (await jobs.download(job_id, name)).text(),
  }));
  // Each attempt begins as a new visitor.
  const server_state = bench.site.statesOf(task, task.name)[n - 1] ?? task.newState();
  const said = verdict?.class ?? "cancelled";
  const problem =
    attempt.exit_code === 0
      ? await task.verify({ result, assets, server_state })
      : (verdict?.reason ?? "it did not end");
  return { right: problem === null, problem, said, tokens };
}

async function runAll(bench: Bench): Promise<TaskScore[]> {
  const { tasks, attempts, at_once, log } = bench;
  const left = [...tasks];
  const scores = new Map<Task, TaskScore>();
  const work = async () => {
    for (let task = left.shift(); task; task = left.shift()) {
      const score = await runTask(bench, task).catch((err) => ({
        task: task.name,
        ms: 0,
        attempts: [],
        error: errorMessage(err),
      }));
      scores.set(task, score);
      const passed = passesAt(attempts, score) ? "passed" : "failed";
      console.log(`${task.name}: ${passed} after ${(score.ms / 1_000).toFixed(1)} s`);
      if (log)
        for (const [i, { problem }] of score.attempts.entries())
          if (problem !== null) console.log(`  attempt ${i + 1}: ${problem}`);
    }
  };
  await Promise.all(Array.from({ length: at_once }, work));
  return tasks.flatMap((task) => scores.get(task) ?? []);
}

async function main(options: Options): Promise<void> {
  const site = startTaskServer(options.tasks);
  // Of two and more lanes one is always left to fetch jobs.
  const lanes = options.at_once === 1 ? 1 : options.at_once + 1;
  const fleet = await startFleet({ lanes, headless: true, env: { SVC_DRAIN_TIMEOUT_S: "1" } });
  try {
    await fleet.lanesWarm(120_000);
    const bench = { ...options, fleet, site, client: createClient({ base_url: fleet.url }) };
    const engine = { ...options.engine, use_for_codegen: true, timeout_s: ENGINE_S };
    await ask(bench, "PUT", "/engines/bench", engine);
    console.log(`\n${tableOf(await runAll(bench), options.attempts)}`);
  } finally {
    await fleet.stop();
    await site.stop();
  }
}

let options: Options;
try {
  options = readOptions();
} catch (err) {
  console.error(`${errorMessage(err)}\n\n${USAGE}`);
  process.exit(2);
}
await main(options);
