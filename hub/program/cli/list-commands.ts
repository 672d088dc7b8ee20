import { humanSize } from "#shared/protocol/names.ts";
import type { Engine } from "#shared/protocol/schema/engine.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import type { Worker } from "#shared/protocol/schema/worker.ts";
import { EXIT } from "./exit.ts";
import { describeError, type HubAnswer, type HubClient } from "./hub-client.ts";
import { formatTable, printable, type Terminal } from "./print.ts";

export interface ListDeps {
  client: HubClient;
  terminal: Terminal;
}

function show(terminal: Terminal, answer: HubAnswer, json: boolean, text: () => string): number {
  if (answer.status !== 200) {
    terminal.err(`flotilla: ${printable(describeError(answer))}\n`);
    return answer.status === 400 || answer.status === 422 ? EXIT.usage : EXIT.failed;
  }
  terminal.out(`${json ? JSON.stringify(answer.body, null, 2) : text()}\n`);
  return EXIT.ok;
}

/** `flotilla jobs`: newest first. */
export async function runJobsCommand(
  { client, terminal }: ListDeps,
  filter: { status?: string; limit?: string },
  json: boolean,
): Promise<number> {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(filter)) if (value !== undefined) query.set(key, value);
  const answer = await client.call("GET", `/jobs?${query}`);
  return show(terminal, answer, json, () => {
    const { jobs } = answer.body as { jobs: Job[] };
    if (jobs.length === 0) return "no jobs";
    return formatTable(
      [
        { title: "job" },
        { title: "status" },
        { title: "created" },
        { title: "assets", right: true },
        { title: "size", right: true },
        { title: "url", shrink: 16 },
      ],
      jobs.map((job) => [
        job.job_id,
        job.status,
        job.created_at.replace("T", " ").slice(0, 19),
        String(job.asset_count),
        humanSize(job.asset_bytes),
        job.url,
      ]),
      terminal.width,
    );
  });
}

/** `flotilla workers`: every known worker and what its lanes do. */
export async function runWorkersCommand(
  { client, terminal }: ListDeps,
  json: boolean,
): Promise<number> {
  const answer = await client.call("GET", "/workers");
  return show(terminal, answer, json, () => {
    const { workers } = answer.body as { workers: Worker[] };
    if (workers.length === 0) return "no workers";
    return formatTable(
      [
        { title: "worker" },
        { title: "status" },
        { title: "alive" },
        { title: "running", right: true },
        { title: "lanes" },
        { title: "version" },
        { title: "address", shrink: 12 },
      ],
      workers.map((worker) => [
        worker.worker_id,
        worker.status,
        worker.alive ? "yes" : "no",
        String(worker.in_flight),
        worker.lanes.map((lane) => lane.state).join(" "),
        worker.version,
        worker.address,
      ]),
      terminal.width,
    );
  });
}

/** `flotilla engines`: the AI backends, the promoted one marked. */
export async function runEnginesCommand(
  { client, terminal }: ListDeps,
  json: boolean,
): Promise<number> {
  const answer = await client.call("GET", "/engines");
  return show(terminal, answer, json, () => {
    const { engines } = answer.body as { engines: Engine[] };
    if (engines.length === 0) return "no engines";
    return formatTable(
      [
        { title: "engine" },
        { title: "kind" },
        { title: "model" },
        { title: "promoted" },
        { title: "code" },
        { title: "endpoint", shrink: 16 },
      ],
      engines.map((engine) => [
        engine.slug,
        engine.kind,
        engine.model,
        engine.promoted ? "yes" : "no",
        engine.use_for_codegen ? "yes" : "no",
        engine.endpoint,
      ]),
      terminal.width,
    );
  });
}

/** `flotilla cancel ID`. */
export async function runCancelCommand(
  { client, terminal }: ListDeps,
  job_id: string,
  json: boolean,
): Promise<number> {
  const answer = await client.call("POST", `/jobs/${encodeURIComponent(job_id)}/cancel`);
  return show(terminal, answer, json, () => `job ${job_id} cancelled`);
}
