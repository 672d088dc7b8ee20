import { type Asset, FlotillaError, type Job } from "#shared/client/index.ts";
import { readUpTo } from "#shared/kit/read-up-to.ts";
import type { Crawl, TaskContext } from "./context.ts";
import { isFleetAway } from "./fleet-away.ts";

/** Statuses by which a server asks to be left alone for a while. */
const BUSY = new Set([429, 503]);

type Purpose = "page" | "robots" | "sitemap";

const isBusy = ({ http_status }: Job): boolean => http_status !== null && BUSY.has(http_status);
/** A page that answered with an error is a page; what robots.txt or a sitemap would have said is still to be asked. */
const isUseless = (job: Job, purpose: Purpose): boolean =>
  job.status === "failed" ||
  job.status === "cancelled" ||
  isBusy(job) ||
  (purpose !== "page" && (job.http_status ?? 0) >= 500);
/** A key of an earlier claim, when the crawl had other options. */
const isOfAnother = (err: unknown): boolean =>
  err instanceof FlotillaError && err.status === 409 && /another request/.test(err.message);

/** What a task wants of a job. */
export interface Wanted<T> {
  address: string;
  purpose: Purpose;
  /** What the job brought. @throws when that is nothing useful, so that the next attempt opens another one */
  read(job: Job): Promise<T>;
}

/**
 * What the job of a task's `address` brought, ended and useful. An attempt that was cut short left a job behind: its key
 * finds it again, so that a page whose worker was killed is not opened a second time. A key whose job brought nothing is
 * given up: each claim adds one job at most, also after the task was reset.
 * @throws the failure of the newest job
 */
export async function readJob<T>(
  { name, jobs, settings }: Crawl,
  { address, purpose, read }: Wanted<T>,
  { task_id, epoch, signal }: TaskContext,
): Promise<T> {
  // An archive of the crawl has its pages.
  const labels = { [purpose === "page" ? "crawl" : "crawl-aside"]: name };
  const options = purpose === "page" ? settings.options : { ...settings.options, ...WITH_BODY };
  const submitted = async (n: number): Promise<string | null> => {
    const key = { idempotency_key: `crawl-${task_id}-${purpose}-${n}`, patience_ms: 0, signal };
    try {
      return (await jobs.submit({ url: address, options, labels }, key)).job_id;
    } catch (err) {
      if (n < epoch && isOfAnother(err)) return null;
      throw err;
    }
  };
  const isWanted = async (job_id: string | null): Promise<boolean> => {
    if (job_id === null) return false;
    const job = await jobs.get(job_id, { signal });
    if (isUseless(job, purpose)) return false;
    return job.status !== "completed" || hasBrought(read(job));
  };
  let job_id = await submitted(1);
  for (let n = 2; n <= epoch && !(await isWanted(job_id)); n += 1) job_id = await submitted(n);
  if (job_id === null) throw new Error(`no job was submitted for ${address}`);
  const job = await jobs.wait(job_id, { signal });
  if (isUseless(job, purpose)) throw new Error(failureOf(job));
  return read(job);
}

/** @throws when nobody can say, because the hub is away */
const hasBrought = (reading: Promise<unknown>): Promise<boolean> =>
  reading.then(
    () => true,
    (err: unknown) => {
      if (isFleetAway(err)) throw err;
      return false;
    },
  );

/** What a crawl's own options say of bodies is said of pages. Without a size of its own a job has that of the fleet. */
const WITH_BODY = { capture_assets: true, min_asset_size_bytes: 1 };

function failureOf(job: Job): string {
  if (isBusy(job)) return `the server answered ${job.http_status}: it wants to be left alone`;
  if (job.status === "completed") return `${job.url} answered ${job.http_status}`;
  return `job ${job.job_id} ${job.status}: ${job.error ?? "no reason given"}`;
}

/** A document as its server sent it. */
export interface Body {
  bytes: Uint8Array;
  /** Its end is missing: it did not come, or it is longer than what was asked for. */
  is_cut: boolean;
}

/**
 * The first `most` bytes of the document that the job opened; null when the server sent none.
 * @throws when some were sent and its beginning was not kept
 */
export async function bodyOf({ jobs }: Crawl, job: Job, most: number): Promise<Body | null> {
  const wanted = new Set([job.url, job.final_url]);
  const assets = await jobs.assets(job.job_id);
  const asset = assets.find(({ source_url }) => source_url !== null && wanted.has(source_url));
  const { lost = 0, partial = 0 } = job.capture ?? {};
  if (!asset && lost + partial === 0) return null;
  const kept = asset ? lengthOf(asset) : 0;
  if (!asset || kept === 0) throw new Error(`the body of ${job.url} was not captured`);
  const file = await jobs.download(job.job_id, asset.name);
  const { bytes, cut } = await readUpTo(file, Math.min(most, kept));
  return { bytes, is_cut: asset.partial || cut };
}

/** Bytes without a gap from the beginning on. */
const lengthOf = ({ partial, ranges: [first] }: Asset): number => {
  if (!partial) return Number.POSITIVE_INFINITY;
  return first?.start === 0 ? first.end + 1 : 0;
};
