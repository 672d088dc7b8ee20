import {
  createWorkload,
  deleteWorkload,
  getHealth,
  getQueueCounts,
  getRun,
  listJobs,
  submitJob,
  submitTasks,
} from "./api.ts";

const { TOKEN = "", TARGET = "" } = process.env;
const known = { headers: { authorization: `Bearer ${TOKEN}` } };
const slug = "by-orval";
const items = [{ pk: "1" }, { pk: "2", extra: { url: TARGET } }];

const health = await getHealth();
const job = await submitJob({ url: TARGET }, known);
const jobs = await listJobs({ limit: 1 }, known);
const workload = { slug, name: "Typed", executor_type: "fleet_fetch" } as const;
const made = await createWorkload(workload, undefined, known);
const sent = await submitTasks(slug, { items }, known);
const queue = await getQueueCounts(slug, known);
const missing = await getRun(987654, known);
const gone = await deleteWorkload(slug, { force: true }, known);
console.log(
  JSON.stringify({
    health: health.status === 200 ? health.data.status : null,
    job: job.status === 200 ? job.data.status : null,
    listed: jobs.status === 200 ? jobs.data.jobs.map(({ url }) => url) : null,
    made: made.status === 201 && made.data.slug === slug,
    submitted: sent.status === 201 ? sent.data.submitted : null,
    pending: queue.status === 200 ? queue.data.pending : null,
    missing: [missing.status, missing.status === 404 ? missing.data.detail : null],
    gone: gone.status,
  }),
);
