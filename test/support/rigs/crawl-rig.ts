import { join } from "node:path";
import { type Client, createClient, type Job, type QueueCounts } from "flotilla";
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
  queue(): Promise<QueueCounts>;
  /** Completed jobs of the crawl. */
  jobs(): Promise<Job[]>;
  /** What failed attempts ended with, and how often; numbers and addresses are left out. */
  failures(): Promise<Record<string, number>>;
  /** Resolves when the queue holds nothing but failures. */
  ended(ms: number): Promise<void>;
  stop(): Promise<void>;
}

const CRAWL = "site";
/** What a page of the site needs. */
const QUICK = { idle_seconds: 0.1, final_state: false };
/** A busy machine stands still for seconds: with 3 s three leases of the first page ended in 20 s at a load of 15 on 2 cores. */
const LEASE_S = 15;

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
  const { jobs, workloads } = createClient({ base_url: fleet.url });
  const queue: CrawlRig["queue"] = () => workloads.queue(CRAWL);
  const rig: CrawlRig = {
    fleet,
    puller,
    site,
    queue,
    jobs: () => completedJobs(jobs),
    failures: async () => {
      const runs = await workloads.runs(CRAWL, { success: false, limit: 500 });
      const counts: Record<string, number> = {};
      for (const { outcome, error } of runs) {
        const what = `${outcome}: ${error?.replace(/https?:\S+|\b\w*\d\w*\b/g, "…") ?? ""}`;
        counts[what] = (counts[what] ?? 0) + 1;
      }
      return counts;
    },
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
    await workloads.create({
      slug: CRAWL,
      executor_type: "bun_module",
      executor_config: {
        plugin: "crawl",
        init_kwargs: { delay_s: 0, per_host: lanes, scope: "host", options: QUICK, ...settings },
      },
      emits: [CRAWL],
      lease_secs: LEASE_S,
      backoff: { kind: "fixed", base_s: 1, jitter: 0 },
    });
    await workloads.submit(CRAWL, [{ pk: site.url, once: true }]);
    return rig;
  } catch (err) {
    await rig.stop();
    throw new Error(`${err}\npull worker:\n${puller.tail()}\nhub:\n${fleet.hub.tail()}`, {
      cause: err,
    });
  }
}

async function completedJobs({ list }: Client["jobs"]): Promise<Job[]> {
  const found: Job[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { label: `crawl:${CRAWL}`, status: "completed", limit: 200 } as const;
    const page = await list({ ...query, ...(cursor && { cursor }) });
    found.push(...page.jobs);
    cursor = page.next_cursor;
  }
  return found;
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
