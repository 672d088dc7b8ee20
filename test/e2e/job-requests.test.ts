import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Har } from "#shared/protocol/schema/har.ts";
import { type FleetProcesses, startFleet, until } from "#test/support/rigs/fleet-process.ts";

/** What is known of a job's requests before it has stored its HAR (rules/recordings#requests). */

const LONG_MS = 180_000;
let held = Promise.withResolvers<void>();
let fleet: FleetProcesses;
let site: ReturnType<typeof Bun.serve>;

beforeAll(async () => {
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    fetch: async ({ url }) => {
      const { pathname } = new URL(url);
      if (pathname === "/held.js") await held.promise;
      const html = `<!doctype html><link rel=icon href=data:,><script src=/held.js async></script>`;
      const mime = pathname === "/" ? "text/html" : "text/javascript";
      return new Response(pathname === "/" ? html : "", { headers: { "content-type": mime } });
    },
  });
  fleet = await startFleet({ lanes: 1, env: { SVC_DRAIN_TIMEOUT_S: "1" } });
  await fleet.lanesWarm(LONG_MS);
}, LONG_MS);

afterAll(async () => {
  held.resolve();
  await fleet?.stop();
  await site?.stop(true);
}, LONG_MS);

type Log = Har["log"];
const urls = (log: Log | null) => log?.entries.map(({ request }) => request.url) ?? [];
async function harOf(job_id: string): Promise<Log | null> {
  const answer = await fetch(`${fleet.url}/jobs/${job_id}/har.json`);
  return answer.ok ? ((await answer.json()) as Har).log : null;
}

/** A job whose page waits for an answer, with both of its requests at the hub. */
async function waitingJob(): Promise<{ job_id: string; so_far: Log | null }> {
  held = Promise.withResolvers<void>();
  const { job_id } = await fleet.submit(site.url.href, { final_state: false });
  await until("both requests", LONG_MS, async () => urls(await harOf(job_id)).length === 2);
  return { job_id, so_far: await harOf(job_id) };
}

test(
  "a job's requests reach the hub while it runs, without headers, until its own HAR has them",
  async () => {
    const { job_id, so_far } = await waitingJob();
    expect(so_far?.entries).toMatchObject([
      {
        _n: 1,
        _resourceType: "document",
        request: { method: "GET", url: site.url.href, headers: [] },
        response: { status: 200, headers: [], content: { mimeType: "text/html" } },
      },
      { _n: 2, _unfinished: true, request: { url: `${site.url}held.js` } },
    ]);
    expect(so_far).toHaveProperty("_ms");
    held.resolve();
    await fleet.finished(job_id, LONG_MS);
    const stored = await harOf(job_id);
    expect(urls(stored)).toEqual(urls(so_far));
    expect(stored).not.toHaveProperty("_ms");
    expect(stored?.entries[0]?.request.headers.length).toBeGreaterThan(0);
  },
  LONG_MS,
);

test(
  "the requests of a job whose worker is killed are there afterwards",
  async () => {
    await fleet.lanesWarm(LONG_MS);
    const { job_id, so_far } = await waitingJob();
    const { starts } = fleet.worker;
    fleet.worker.kill("SIGKILL");
    await until("another worker", LONG_MS, () => fleet.worker.starts > starts);
    expect((await fleet.finished(job_id, LONG_MS)).status).toBe("failed");
    expect(urls(so_far)).toEqual([site.url.href, `${site.url}held.js`]);
    expect(urls(await harOf(job_id))).toEqual(urls(so_far));
  },
  LONG_MS,
);
