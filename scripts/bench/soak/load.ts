import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient, type Job } from "flotilla";
import { chromium } from "playwright-core";
import { errorMessage } from "#shared/kit/errors.ts";
import type { FleetProcesses } from "#test/support/rigs/fleet-process.ts";
import { freePort } from "#test/support/servers/ports.ts";
import { connectRfb } from "../rfb-client.ts";

/** What a soak does all the time: jobs of every kind, now and then a session, and tasks. */

export interface Load {
  readonly counts: Readonly<Counts>;
  /** The last thing that went wrong otherwise than it should. */
  readonly trouble: string | null;
  /** Ends the loops, waits for what is on its way. */
  stop(): Promise<void>;
}

interface Counts {
  jobs: number;
  failed: number;
  sessions: number;
  tasks: number;
  /** Jobs that were due while too many were on their way. */
  skipped: number;
  /** What should have gone well and did not. */
  troubles: number;
}

/** More are not submitted before one has ended: the soak measures steady work, not a growing queue. */
const MOST_AT_ONCE = 8;
/** Ended jobs that are kept; older ones are deleted, so that disk and tables stop growing. */
const KEPT_JOBS = 300;
const JOB_MS = 300_000;
const MINUTE_MS = 60_000;
const TASKS_A_MINUTE = { shout: 40, echo: 4, pages: 2 };

const SCRIPT = `import { session, log, save } from "flotilla";
await log("reading");
await save("text.txt", JSON.stringify(await session.text()));
export default { ok: true };`;

type Client = ReturnType<typeof createClient>;

interface Soak {
  fleet: FleetProcesses;
  client: Client;
  site: string;
  /** Nobody listens there. */
  dead: string;
  counts: Counts;
  tell(what: string, err: unknown): void;
  signal: AbortSignal;
}

export interface LoadOptions {
  site: string;
  /** Jobs a minute. */
  rate: number;
  sessions_a_minute: number;
}

export async function startLoad(fleet: FleetProcesses, options: LoadOptions): Promise<Load> {
  const counts: Counts = { jobs: 0, failed: 0, sessions: 0, tasks: 0, skipped: 0, troubles: 0 };
  const ending = new AbortController();
  let trouble: string | null = null;
  const soak: Soak = {
    fleet,
    counts,
    site: options.site,
    signal: ending.signal,
    client: createClient({ base_url: fleet.url }),
    dead: `http://127.0.0.1:${freePort()}/`,
    tell: (what, err) => {
      if (ending.signal.aborted) return;
      counts.troubles += 1;
      trouble = `${what}: ${errorMessage(err)}`;
    },
  };
  await addWorkloads(soak);
  const stopWatching = watchChanges(soak);
  const kept: string[] = [];
  const loops = [
    every(soak, MINUTE_MS / options.rate, MOST_AT_ONCE, (n) => jobLoop(soak, n, kept)),
    every(soak, MINUTE_MS / options.sessions_a_minute, 1, () => useSession(soak)),
    every(soak, MINUTE_MS, 1, (n) => submitTasks(soak, n)),
  ];
  return {
    counts,
    get trouble() {
      return trouble;
    },
    stop: async () => {
      ending.abort();
      await Promise.allSettled([...loops, stopWatching]);
    },
  };
}

/** Begins `work` at a steady pace, at most `most` at once; resolves when all have ended after the signal. */
async function every(
  { signal, counts, tell }: Soak,
  ms: number,
  most: number,
  work: (n: number) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  const begun = performance.now();
  for (let n = 0; !signal.aborted; n += 1) {
    if (running.size >= most) counts.skipped += 1;
    else {
      const one = work(n)
        .catch((err) => tell("load", err))
        .finally(() => running.delete(one));
      running.add(one);
    }
    await pause(begun + (n + 1) * ms - performance.now(), signal);
  }
  await Promise.allSettled(running);
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, Math.max(0, ms));
    signal.addEventListener("abort", done);
  });

/** Ten jobs of a round, and how each must end. */
const ROUND = ["small", "pictures", "small", "large", "frame", "dead", "small", "data", "pictures"];

async function jobLoop(soak: Soak, n: number, kept: string[]): Promise<void> {
  const { client, counts, tell } = soak;
  const kind = ROUND[n % (ROUND.length + 1)] ?? "script";
  const url = kind === "dead" ? soak.dead : `${soak.site}${kind === "script" ? "small" : kind}`;
  const options =
    kind === "script"
      ? ({ mode: "rerun", code: SCRIPT, goal: "read the page" } as const)
      : { idle_seconds: 0.3, max_wait_seconds: 30, headless: n % 4 === 3 };
  const job = await client.jobs.run({ url, options }, { timeout_ms: JOB_MS });
  counts.jobs += 1;
  if (job.status !== "completed") counts.failed += 1;
  if ((job.status === "completed") === (kind === "dead"))
    tell(kind, new Error(`${job.status}: ${job.error}`));
  else if (n % 5 === 0) await readJob(soak, job);
  kept.push(job.job_id);
  for (const old of kept.splice(0, Math.max(0, kept.length - KEPT_JOBS)))
    await client.jobs.delete(old);
}

/** What people look at afterwards. */
async function readJob({ client }: Soak, { job_id, status }: Job): Promise<void> {
  if (status !== "completed") return;
  await client.jobs.list({ limit: 50 });
  await client.jobs.assets(job_id);
  for (const name of ["har.json", "log.txt", "assets.zip"] as const)
    await (await client.jobs.file(job_id, name)).arrayBuffer();
}

/** Actions, a person's viewer, a script over CDP, a picture; then it is closed. */
async function useSession({ fleet, client, site, counts }: Soak): Promise<void> {
  await using session = await client.sessions.open({ url: `${site}small` });
  const path = `/sessions/${session.session_id}`;
  await session.navigate({ url: `${site}pictures` });
  await session.evaluate({ code: "document.title" });
  await session.text();
  await session.screenshot();
  const viewer = await connectRfb(`${fleet.url.replace("http", "ws")}${path}/novnc/websockify`);
  await viewer.update({ width: 400, height: 300 });
  viewer.close();
  const browser = await chromium.connectOverCDP(`${fleet.url}${path}/cdp`);
  await browser.contexts()[0]?.pages()[0]?.goto(`${site}frame`);
  await browser.close();
  await (await fetch(`${fleet.url}${path}/preview.jpg`)).arrayBuffer();
  counts.sessions += 1;
}

async function addWorkloads({ fleet, client }: Soak): Promise<void> {
  const source_path = join(fleet.dir, "shout.ts");
  await writeFile(
    source_path,
    "export default ({ pk }) => (console.log(pk), { said: pk.toUpperCase() });",
  );
  const argv = ["true"];
  await client.workloads.create({
    slug: "shout",
    executor_type: "bun_module",
    executor_config: { source_path },
  });
  await client.workloads.create({
    slug: "echo",
    executor_type: "command",
    executor_config: { argv },
  });
  await client.workloads.create({
    slug: "pages",
    executor_type: "fleet_fetch",
    executor_config: { options: { idle_seconds: 0.2 } },
  });
}

async function submitTasks({ client, site, counts }: Soak, n: number): Promise<void> {
  for (const [slug, count] of Object.entries(TASKS_A_MINUTE)) {
    const pks = Array.from({ length: count }, (_, i) =>
      slug === "pages" ? `${site}small?${n}-${i}` : `${slug}-${n}-${i}`,
    );
    await client.workloads.submit(
      slug,
      pks.map((pk) => ({ pk })),
    );
    counts.tasks += count;
  }
}

/** The open admin UI: one page that follows what changes. */
async function watchChanges({ fleet, signal }: Soak): Promise<void> {
  while (!signal.aborted) {
    try {
      const answer = await fetch(`${fleet.url}/ui/changes`, { signal });
      for await (const _ of answer.body ?? []) if (signal.aborted) return;
    } catch {
      // Ended with the soak, or opened anew.
    }
    await pause(1_000, signal);
  }
}
