import type { Job } from "#shared/client/index.ts";
import { readUpTo } from "#shared/kit/read-up-to.ts";
import type { Crawl, TaskContext } from "./context.ts";

/** Statuses by which a server asks to be left alone for a while. */
const BUSY = new Set([429, 503]);

const isBusy = ({ http_status }: Job): boolean => http_status !== null && BUSY.has(http_status);
const isUseless = (job: Job): boolean =>
  job.status === "failed" || job.status === "cancelled" || isBusy(job);

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
    const sent = await jobs.submit(
      { url: address, options: settings.options, labels },
      { idempotency_key: `crawl-${task_id}-${purpose}-${n}`, patience_ms: 0, signal },
    );
    return sent.job_id;
  };
  let job_id = await submitted(1);
  for (let n = 2; n <= attempt && isUseless(await jobs.get(job_id, { signal })); n += 1)
    job_id = await submitted(n);
  const job = await jobs.wait(job_id, { signal });
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
  const assets = await jobs.assets(job.job_id);
  const asset = assets.find(({ source_url }) => source_url !== null && wanted.has(source_url));
  if (!asset) return null;
  const { bytes } = await readUpTo(await jobs.download(job.job_id, asset.name), most);
  return bytes;
}
