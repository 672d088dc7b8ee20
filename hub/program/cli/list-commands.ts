import type { Http } from "#shared/client/http.ts";
import { humanSize } from "#shared/kit/words.ts";
import type { Engine } from "#shared/protocol/schema/engine.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import type { Worker } from "#shared/protocol/schema/worker.ts";
import { moment } from "./client-call.ts";
import { asTyped, tell } from "./hub-client.ts";
import { type Terminal, tableFor } from "./print.ts";

export interface ListDeps {
  client: Http;
  terminal: Terminal;
}

/** As it was answered with `json`, else as text. */
const shown =
  <T>(json: boolean, text: (answer: T) => string) =>
  (answer: T): string =>
    json ? JSON.stringify(answer, null, 2) : text(answer);

/** `flotilla jobs`: newest first. */
export async function runJobsCommand(
  { client, terminal }: ListDeps,
  filter: { status?: string; limit?: string; label?: readonly string[] },
  json: boolean,
): Promise<number> {
  const text = ({ jobs }: { jobs: Job[] }): string => {
    if (jobs.length === 0) return "no jobs";
    return tableFor(
      terminal,
      [
        { title: "job" },
        { title: "status", state: true },
        { title: "created" },
        { title: "assets", right: true },
        { title: "size", right: true },
        { title: "url", shrink: 16 },
      ],
      jobs.map((job) => [
        job.job_id,
        job.status,
        moment(job.created_at),
        String(job.asset_count),
        humanSize(job.asset_bytes),
        job.url,
      ]),
    );
  };
  return tell(terminal, client.call("GET /jobs", { query: asTyped(filter) }), shown(json, text));
}

/** `flotilla workers`: every known worker and what its lanes do. */
export async function runWorkersCommand(
  { client, terminal }: ListDeps,
  json: boolean,
): Promise<number> {
  const text = ({ workers }: { workers: Worker[] }): string => {
    if (workers.length === 0) return "no workers";
    return tableFor(
      terminal,
      [
        { title: "worker" },
        { title: "status", state: true },
        { title: "alive", state: true },
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
    );
  };
  return tell(terminal, client.call("GET /workers"), shown(json, text));
}

/** `flotilla engines`: the AI backends, the promoted one marked. */
export async function runEnginesCommand(
  { client, terminal }: ListDeps,
  json: boolean,
): Promise<number> {
  const text = ({ engines }: { engines: Engine[] }): string => {
    if (engines.length === 0) return "no engines";
    return tableFor(
      terminal,
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
    );
  };
  return tell(terminal, client.call("GET /engines"), shown(json, text));
}

/** `flotilla cancel ID`. */
export async function runCancelCommand(
  { client, terminal }: ListDeps,
  job_id: string,
  json: boolean,
): Promise<number> {
  const asked = client.call("POST /jobs/{id}/cancel", { params: { id: job_id } });
  return tell(
    terminal,
    asked,
    shown(json, () => `job ${job_id} cancelled`),
  );
}
