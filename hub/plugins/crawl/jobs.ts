import type { Job } from "#shared/client/index.ts";
import { readUpTo } from "#shared/kit/read-up-to.ts";
import { type Crawl, retryLater, type TaskContext } from "./context.ts";

/** Statuses by which a server asks to be left alone for a while. */
const BUSY = new Set([429, 503]);
/** Without a hub a task waits. */
const NO_HUB_S = 10;

const isBusy = ({ http_status }: Job): boolean => http_status !== null && BUSY.has(http_status);
const isUseless = (job: Job): boolean =>
  job.status === "failed" || job.status === "cancelled" || isBusy(job);

/** @throws so that the task waits, if the hub could not be asked */
async function asked<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (err) {
    const status = (err as { status?: number }).status ?? 0;
    if (status === 0 || status === 429 || status >= 500)
      throw retryLater(NO_HUB_S, `the fleet cannot run a job now: ${String(err)}`);
    throw err;
  }
}

/**
 * The job of a task's `address`, ended and useful. An attempt that was cut short left a job behind: its key finds it again,
 * so that a page whose worker was killed is not opened a second time. A key whose job brought nothing is given up.
 * @throws the failure of the newest job
 */
export async function jobOf(
  { name, jobs, settings }: Crawl,
  address: string,
  { task_id, attempt, signal }: TaskContext,
  purpose: "page" | "robots" | "sitemap",
): Promise<Job> {
  // An archive of the crawl has its pages.
  const labels = { [purpose === "page" ? "crawl" : "crawl-aside"]: name };
  const submitted = async (n: number): Promise<string> => {
    const sent = jobs.submit(
      { url: address, options: settings.options, labels },
      { idempotency_key: `crawl-${task_id}-${purpose}-${n}`, patience_ms: 0, signal },
    );
    return (await asked(sent)).job_id;
  };
  let job_id = await submitted(1);
  for (let n = 2; n <= attempt && isUseless(await asked(jobs.get(job_id, { signal }))); n += 1)
    job_id = await submitted(n);
  const job = await asked(jobs.wait(job_id, { signal }));
  if (isUseless(job)) throw new Error(failureOf(job));
  return job;
}

const failureOf = (job: Job): string =>
  isBusy(job)
    ? `the server answered ${job.http_status}: it wants to be left alone`
    : `job ${job.job_id} ${job.status}: ${job.error ?? "no reason given"}`;

/** The first `most` bytes of the document that the job opened; null when it has none. */
export async function bodyOf({ jobs }: Crawl, job: Job, most: number): Promise<Uint8Array | null> {
  const wanted = new Set([job.url, job.final_url]);
  const assets = await asked(jobs.assets(job.job_id));
  const asset = assets.find(({ source_url }) => source_url !== null && wanted.has(source_url));
  if (!asset) return null;
  const { bytes } = await readUpTo(await asked(jobs.download(job.job_id, asset.name)), most);
  return bytes;
}
