import { join } from "node:path";
import type { Job } from "#shared/protocol/schema/job.ts";
import { type LinkedSite, serveLinkedSite } from "../servers/linked-site.ts";
import {
  type FleetProcesses,
  type ManagedProcess,
  startFleet,
  superviseProcess,
  until,
} from "./fleet-process.ts";
import { PROGRAM } from "./program.ts";

/** A fleet with a pull worker of its own process, and a crawl of a {@link LinkedSite} on it. */
export interface CrawlRig {
  fleet: FleetProcesses;
  puller: ManagedProcess;
  site: LinkedSite;
  /** What the crawl's queue has. */
  queue(): Promise<{ pending: number; claimed: number; failed: number; total: number }>;
  /** Completed jobs of the crawl. */
  jobs(): Promise<Job[]>;
  /** Resolves when the queue holds nothing but failures. */
  ended(ms: number): Promise<void>;
  call<T>(method: string, path: string, body?: unknown): Promise<T>;
  stop(): Promise<void>;
}

const CRAWL = "site";
/** What a page of the site needs. */
const QUICK = { idle_seconds: 0.1, final_state: false };

export async function startCrawl(given: {
  pages: number;
  lanes: number;
  settings?: object;
}): Promise<CrawlRig> {
  const { pages, lanes, settings = {} } = given;
  const site = serveLinkedSite(pages);
  const fleet = await startFleet({ lanes, headless: true, env: { SVC_DRAIN_TIMEOUT_S: "1" } });
  const puller = superviseProcess("puller", [...PROGRAM, "worker"], {
    FLOTILLA_TEST: fleet.dir,
    SVC_CONTROL_URL: fleet.url,
    SVC_DATA_DIR: join(fleet.dir, "puller"),
    SVC_SLOTS: String(lanes + 1),
    SVC_DRAIN_TIMEOUT_S: "1",
  });
  const call = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await fetch(fleet.url + path, {
      method,
      headers: { "content-type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(60_000),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  };
  const queue: CrawlRig["queue"] = () => call("GET", `/api/v1/workloads/${CRAWL}/queue`);
  const rig: CrawlRig = {
    fleet,
    puller,
    site,
    call,
    queue,
    jobs: () => completedJobs(call),
    ended: async (ms) => {
      await until(
        "the end of the crawl",
        ms,
        async () => {
          const counts = await queue().catch(() => null);
          return counts !== null && counts.pending + counts.claimed === 0;
        },
        250,
      );
    },
    stop: async () => {
      await puller.stop();
      await fleet.stop();
      site.stop();
    },
  };
  try {
    await fleet.lanesWarm();
    await call("POST", "/api/v1/workloads", {
      slug: CRAWL,
      executor_type: "bun_module",
      executor_config: {
        plugin: "crawl",
        init_kwargs: { delay_s: 0, per_host: lanes, scope: "host", options: QUICK, ...settings },
      },
      emits: [CRAWL],
      lease_secs: 3,
      backoff: { kind: "fixed", base_s: 1, jitter: 0 },
    });
    await call("POST", `/api/v1/workloads/${CRAWL}/tasks`, { pk: site.url, once: true });
    return rig;
  } catch (err) {
    await rig.stop();
    throw new Error(`${err}\npull worker:\n${puller.tail()}\nhub:\n${fleet.hub.tail()}`, {
      cause: err,
    });
  }
}

async function completedJobs(call: CrawlRig["call"]): Promise<Job[]> {
  const jobs: Job[] = [];
  for (let cursor = ""; ; ) {
    const query = `label=crawl:${CRAWL}&status=completed&limit=200${cursor && `&cursor=${cursor}`}`;
    const page = await call<{ jobs: Job[]; next_cursor: string | null }>("GET", `/jobs?${query}`);
    jobs.push(...page.jobs);
    if (page.next_cursor === null) return jobs;
    cursor = encodeURIComponent(page.next_cursor);
  }
}

/** The pages that were missed, those of more than one completed job, and those that a crawl leaves alone. */
export function judgeCrawl({ site }: CrawlRig, jobs: readonly Job[]) {
  const visits = new Map<string, number>();
  for (const { url } of jobs) {
    const { pathname } = new URL(url);
    visits.set(pathname, (visits.get(pathname) ?? 0) + 1);
  }
  return {
    missed: [...site.wanted].filter((path) => !visits.has(path)),
    twice: [...visits].filter(([, n]) => n > 1).map(([path]) => path),
    unwanted: [...visits.keys()].filter((path) => !site.wanted.has(path)),
  };
}
