import { z } from "@hono/zod-openapi";
import { jobCalls } from "#shared/client/jobs.ts";
import { JOB_DOCUMENTS } from "#shared/protocol/documents.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import { isTerminal, JobStatus, SubmitJob } from "#shared/protocol/schema/job.ts";
import { bodyOf, KINDS, READABLE_DOCUMENTS } from "./job-body.ts";
import { lookUntil } from "./look-until.ts";
import { pageJson, said } from "./results.ts";
import { CALL_MS, cursor, job_id, type Tool, type ToolCall, tool, wait_s } from "./tool.ts";

/** Jobs and what they captured. */

const POLL_MS = 1_000;
const MOST_ASSETS = 100;

/** What a model needs of a record: not the hundred options with their defaults. */
const shortJob = (job: Job) => {
  const { job_id: id, status, mode, url, final_url, title, http_status, error, stage } = job;
  const { created_at, finished_at, duration_ms, asset_count, asset_bytes, attempts } = job;
  const { waiting_for, answer, changed, labels, session_id } = job;
  const { seen, captured, partial, lost, warnings } = job.capture ?? {};
  return {
    job_id: id,
    status,
    mode,
    url,
    final_url,
    title,
    http_status,
    error,
    stage,
    created_at,
    finished_at,
    duration_ms,
    asset_count,
    asset_bytes,
    attempts,
    waiting_for,
    answer,
    changed,
    labels,
    session_id,
    capture: job.capture && { seen, captured, partial, lost, warnings },
  };
};

const readJob = ({ http, signal }: Pick<ToolCall, "http" | "signal">, id: string): Promise<Job> =>
  http.call("GET /jobs/{id}", { params: { id }, timeout_ms: CALL_MS, signal });

/** The record once the job has ended, or as it is when the time is over. */
const waitForJob = (call: ToolCall, job: Job, wait_ms: number): Promise<Job> =>
  lookUntil(call, job, wait_ms, {
    isOver: ({ status }) => isTerminal(status),
    wordsOf: ({ status, stage }) => `${status}${stage === null ? "" : `: ${stage}`}`,
    pauseOf: () => POLL_MS,
    look: () => readJob(call, job.job_id),
  });

const stateOf = ({ job_id: id, status }: Job) =>
  said(
    isTerminal(status)
      ? `job ${id}: ${status}. job_assets lists what it captured, job_content reads it.`
      : `job ${id}: ${status}. job_read with wait_s waits for its end.`,
  );

const submit = tool({
  name: "job_submit",
  title: "Capture a page with a job",
  about:
    "Opens the address in a browser of its own, keeps everything that it downloads (HTML, pictures, scripts, JSON, videos), and ends. The usual way to get the content of a page without steering it. Then job_read, job_assets, job_content.",
  part: "fleet",
  args: z.strictObject({
    url: SubmitJob.shape.url,
    preset: SubmitJob.shape.preset,
    labels: SubmitJob.shape.labels,
    options: z
      .record(z.string(), z.unknown())
      .default({})
      .describe(
        "Options of a job, such as idle_seconds, wait_seconds, use_profile, scroll, download_video, goal with mode codegen-loop; the page reference/job-options of the guide has all",
      ),
    wait_s,
  }),
  calls: ["POST /jobs", "GET /jobs/{id}"],
  access: "submit",
  effect: "changes",
  run: async (call, { wait_s: wait, ...input }) => {
    const { http, signal } = call;
    const { url, preset, labels, options } = input;
    const json = { url, preset, labels, options: options as never };
    const job = await jobCalls(http).submit(json, { patience_ms: 0, signal });
    const now = await waitForJob(call, job, wait * 1_000);
    return [stateOf(now), ...pageJson(shortJob(now))];
  },
});

const read = tool({
  name: "job_read",
  title: "Read a job",
  about:
    "State, result and capture report of a job: how much was seen, kept and lost. wait_s waits for its end.",
  part: "fleet",
  args: z.strictObject({ job_id, wait_s }),
  calls: ["GET /jobs/{id}"],
  access: "view",
  effect: "reads",
  run: async (call, { job_id: id, wait_s: wait }) => {
    const job = await waitForJob(call, await readJob(call, id), wait * 1_000);
    return [stateOf(job), ...pageJson(shortJob(job))];
  },
});

const list = tool({
  name: "job_list",
  title: "List or search captures",
  about:
    "Past and running jobs, newest first. words finds captures by words of title, address, error, labels or answer; host and q by their address.",
  part: "fleet",
  args: z.strictObject({
    words: z.string().min(1).max(500).optional(),
    host: z.string().max(253).optional(),
    q: z.string().max(500).optional().describe("A part of the address"),
    status: JobStatus.optional(),
    label: z.string().max(200).optional().describe("key:value, or key"),
    limit: z.int().min(1).max(100).default(20),
    cursor,
  }),
  calls: ["GET /jobs"],
  access: "view",
  effect: "reads",
  run: async ({ http, signal }, query) => {
    const call = { query, timeout_ms: CALL_MS, signal };
    const { jobs, next_cursor } = await http.call("GET /jobs", call);
    const rows = jobs.map(({ job_id: id, status, url, title, http_status, created_at, error }) => ({
      job_id: id,
      status,
      url: url.slice(0, 500),
      title,
      http_status,
      created_at,
      error,
    }));
    return pageJson({ jobs: rows, next_cursor });
  },
});

const cancel = tool({
  name: "job_cancel",
  title: "Cancel a job",
  about: "Ends a job that is queued or runs; what it captured so far stays.",
  part: "fleet",
  args: z.strictObject({ job_id }),
  calls: ["POST /jobs/{id}/cancel"],
  access: "submit",
  effect: "ends",
  run: async ({ http, signal }, { job_id: id }) => {
    const call = { params: { id }, timeout_ms: CALL_MS, signal };
    const { status } = await http.call("POST /jobs/{id}/cancel", call);
    return [said(`job ${id}: ${status}`)];
  },
});

const assets = tool({
  name: "job_assets",
  title: "List what a job captured",
  about:
    "The bodies that the browser downloaded: name, kind, type, size, address. Their content is read by job_content.",
  part: "fleet",
  args: z.strictObject({
    job_id,
    kind: z.enum(["image", "video", "audio", "other"]).optional(),
    contains: z.string().max(500).optional().describe("Part of the name, the type or the address"),
    from: z.int().min(0).default(0).describe("next of the call before"),
  }),
  calls: ["GET /jobs/{id}/assets.json"],
  access: "view",
  effect: "reads",
  run: async ({ http, signal }, { job_id: id, kind, contains, from }) => {
    const call = { params: { id }, timeout_ms: CALL_MS, signal };
    const { items } = await http.call("GET /jobs/{id}/assets.json", call);
    const wanted = items.filter(
      (one) =>
        (kind === undefined || one.kind === kind) &&
        (contains === undefined || `${one.name} ${one.mime} ${one.source_url}`.includes(contains)),
    );
    const rows = wanted
      .slice(from, from + MOST_ASSETS)
      .map(({ name, kind: of, mime, size, source_url, status, partial }) => ({
        name,
        kind: of,
        mime,
        size,
        url: source_url.slice(0, 300),
        status,
        partial,
      }));
    const next = from + rows.length;
    const more = next < wanted.length ? `; there are more: from ${next}` : "";
    return [said(`${wanted.length} assets${more}`), ...pageJson(rows)];
  },
});

const content = tool({
  name: "job_content",
  title: "Read a body that a job captured",
  about: `A captured body as text, piece by piece, or as a picture: an asset by its name from job_assets, or a document: ${READABLE_DOCUMENTS.map((document) => `${document} (${JOB_DOCUMENTS[document].label})`).join(", ")}.`,
  part: "fleet",
  args: z.strictObject({
    job_id,
    name: z.string().min(1).max(512),
    kind: z
      .enum(KINDS)
      .nullable()
      .default(null)
      .describe("For a name that an asset and a document have; the document by default"),
    offset: z
      .int()
      .min(0)
      .max(2 ** 40)
      .default(0)
      .describe("First byte"),
    max_bytes: z.int().min(100).max(200_000).default(20_000),
  }),
  calls: [
    "GET /jobs/{id}/assets/{name}",
    ...READABLE_DOCUMENTS.map((name) => `GET /jobs/{id}/${name}` as const),
  ],
  access: "view",
  effect: "reads",
  run: bodyOf,
});

const find = tool({
  name: "search",
  title: "Search the fleet and the pipeline",
  about:
    "Finds past captures, sessions, hosts, profiles, workers, workloads, tasks and runs by a few words, an id or a key, best first.",
  part: "fleet",
  args: z.strictObject({
    words: z.string().trim().min(1).max(200),
    limit: z.int().min(1).max(50).default(20),
  }),
  calls: ["GET /search", "GET /api/v1/search"],
  access: "view",
  effect: "reads",
  run: async ({ http, signal }, { words, limit }) => {
    const call = { query: { q: words, limit }, timeout_ms: CALL_MS, signal };
    const [fleet, pipeline] = await Promise.all([
      http.call("GET /search", call),
      http.call("GET /api/v1/search", call),
    ]);
    const hits = [...fleet.hits, ...pipeline.hits];
    const incomplete = [...fleet.incomplete, ...pipeline.incomplete];
    const late = incomplete.length === 0 ? "" : `; not searched in time: ${incomplete.join(", ")}`;
    return [said(`${hits.length} found${late}`), ...pageJson(hits)];
  },
});

export const JOB_TOOLS: readonly Tool[] = [submit, read, list, cancel, assets, content, find];
