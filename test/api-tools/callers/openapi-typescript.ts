import createClient from "openapi-fetch";
import type { paths } from "./api.ts";

const { ADDRESS = "", TOKEN = "", TARGET = "" } = process.env;
const api = createClient<paths>({
  baseUrl: ADDRESS,
  headers: { authorization: `Bearer ${TOKEN}` },
});
const slug = "by-openapi-typescript";
const items = [{ pk: "1" }, { pk: "2", extra: { url: TARGET } }];

const health = await api.GET("/health");
const job = await api.POST("/jobs", { body: { url: TARGET } });
const jobs = await api.GET("/jobs", { params: { query: { limit: 1 } } });
const made = await api.POST("/api/v1/workloads", {
  body: { slug, name: "Typed", executor_type: "fleet_fetch" },
});
const params = { path: { slug } };
const sent = await api.POST("/api/v1/workloads/{slug}/tasks/batch", { params, body: { items } });
const queue = await api.GET("/api/v1/workloads/{slug}/queue", { params });
const missing = await api.GET("/api/v1/runs/{run_id}", { params: { path: { run_id: 987654 } } });
const gone = await api.DELETE("/api/v1/workloads/{slug}", {
  params: { ...params, query: { force: true } },
});
console.log(
  JSON.stringify({
    health: health.data?.status,
    job: job.data?.status,
    listed: jobs.data?.jobs.map(({ url }) => url),
    made: made.data?.slug === slug,
    submitted: sent.data?.submitted,
    pending: queue.data?.pending,
    missing: [missing.response.status, missing.error?.detail],
    gone: gone.response.status,
  }),
);
