import type { Figures, Job, Session, Worker } from "#shared/client/client-types.ts";
import { FlotillaError } from "#shared/client/errors.ts";
import { everyItem, type Http } from "#shared/client/http.ts";
import type { DashboardOverview } from "#shared/protocol/schema/flow.ts";
import type { PullWorker } from "#shared/protocol/schema/pull.ts";

/** What the browser fleet does now. */
export interface FleetNow {
  version: string;
  degraded: string[];
  workers: Worker[];
  sessions: Session[];
  /** Those that run, at most a hundred. */
  jobs: Job[];
  figures: Figures;
}

/** What the pipeline does now. */
export interface PipelineNow {
  queues: DashboardOverview["queue_depths"];
  problems: DashboardOverview["problems"];
  workers: PullWorker[];
}

/** `fleet` is null at a control plane, which has none. */
export interface Now {
  at: string;
  fleet: FleetNow | null;
  pipeline: PipelineNow | null;
}

const JOBS = 100;
/** A hub that answers slower than this is shown as it was. */
const CALL_MS = 15_000;

/** Null where the hub has no such call: it is a control plane, or of an earlier version. */
const unlessAbsent = <T>(asked: Promise<T>): Promise<T | null> =>
  asked.catch((err) => {
    if (err instanceof FlotillaError && err.status === 404) return null;
    throw err;
  });

async function readFleet(http: Http, signal: AbortSignal): Promise<FleetNow> {
  const { call } = http;
  const asked = { timeout_ms: CALL_MS, signal };
  const [health, workers, sessions, { jobs }, figures] = await Promise.all([
    call("GET /health", asked),
    everyItem(http, "GET /workers", "workers", asked),
    everyItem(http, "GET /sessions", "sessions", asked),
    call("GET /jobs", { query: { status: "running", limit: JOBS }, ...asked }),
    call("GET /figures", { query: { range: "1h" }, ...asked }),
  ]);
  return {
    version: health.version,
    degraded: health.degraded.map(({ part, detail }) => `${part}: ${detail}`),
    workers,
    sessions: sessions.filter((one) => one.state === "active"),
    jobs,
    figures,
  };
}

async function readPipeline(http: Http, signal: AbortSignal): Promise<PipelineNow> {
  const { call } = http;
  const asked = { timeout_ms: CALL_MS, signal };
  const [{ queue_depths, problems }, workers] = await Promise.all([
    call("GET /api/v1/dashboard/overview", asked),
    everyItem(http, "GET /api/v1/workers", "workers", asked),
  ]);
  return { queues: queue_depths, problems, workers };
}

/** Lanes, what runs, queues and rates as they are now. @throws FlotillaError, 404 from what is neither hub nor control plane */
export async function readNow(http: Http, at: string, signal: AbortSignal): Promise<Now> {
  const [fleet, pipeline] = await Promise.all([
    unlessAbsent(readFleet(http, signal)),
    unlessAbsent(readPipeline(http, signal)),
  ]);
  if (fleet === null && pipeline === null)
    throw new FlotillaError(`neither a hub nor a control plane answers at ${http.base_url}`, {
      status: 404,
    });
  return { at, fleet, pipeline };
}
