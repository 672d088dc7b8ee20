import { client } from "./api/client.gen.ts";
import {
  createWorkload,
  deleteWorkload,
  getHealth,
  getQueueCounts,
  getRun,
  listJobs,
  submitJob,
  submitTasks,
} from "./api/index.ts";

const { TOKEN = "", TARGET = "" } = process.env;
client.setConfig({ auth: (scheme) => (scheme.scheme === "bearer" ? TOKEN : undefined) });
const slug = "by-hey-api";
const items = [{ pk: "1" }, { pk: "2", extra: { url: TARGET } }];

const health = await getHealth();
const job = await submitJob({ body: { url: TARGET } });
const jobs = await listJobs({ query: { limit: 1 } });
const made = await createWorkload({ body: { slug, name: "Typed", executor_type: "fleet_fetch" } });
const path = { slug };
const sent = await submitTasks({ path, body: { items } });
const queue = await getQueueCounts({ path });
const missing = await getRun({ path: { run_id: 987654 } });
const gone = await deleteWorkload({ path, query: { force: true } });
console.log(
  JSON.stringify({
    health: health.data?.status,
    job: job.data?.status,
    listed: jobs.data?.jobs.map(({ url }) => url),
    made: made.data?.slug === slug,
    submitted: sent.data?.submitted,
    pending: queue.data?.pending,
    missing: [missing.response?.status, missing.error?.detail],
    gone: gone.response?.status,
  }),
);
