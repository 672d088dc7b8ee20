import type { HostRow, JobRow } from "#hub/platform/db/rows.ts";
import type { RunExtras } from "#shared/protocol/link/messages.ts";
import { isMasked, maskProxy } from "#shared/protocol/proxy.ts";
import type { JobOptions } from "#shared/protocol/schema/job.ts";
import type { FleetContext } from "../context.ts";

/**
 * The login of a job's proxy is not part of its record: it is kept separately from before the job is stored until it
 * has ended, and goes to the worker that runs the job.
 */

/** A job is stored at most this long after its login. */
const STORED_WITHIN_MS = 60_000;

/** Keeps the login of a job that is about to be stored. @returns the options as the record has them */
export async function keepProxy(
  ctx: Pick<FleetContext, "db" | "clock">,
  job_id: string,
  options: JobOptions,
): Promise<JobOptions> {
  const { proxy } = options;
  if (proxy === null || proxy.username === null) return options;
  await ctx.db.job_proxies.put({ job_id, proxy, created_at: ctx.clock.now() });
  return { ...options, proxy: maskProxy(proxy) };
}

/** The proxy the job uses: its own, else its host's. The login is masked where it is gone. */
export async function proxyOfJob(
  ctx: Pick<FleetContext, "db">,
  { job_id, options }: JobRow,
  host: HostRow | null,
): Promise<Pick<RunExtras, "proxy" | "proxy_of">> {
  const { proxy } = options;
  if (options.replay) return { proxy: null, proxy_of: "job" };
  if (proxy)
    return {
      proxy: isMasked(proxy) ? ((await ctx.db.job_proxies.get(job_id)) ?? proxy) : proxy,
      proxy_of: "job",
    };
  // Another job's browser uses the network as its owner started it.
  return { proxy: options.attach === null ? (host?.proxy ?? null) : null, proxy_of: "host" };
}

/** Forgets the logins of jobs that have ended. */
export const forgetProxiesOnce = async (ctx: Pick<FleetContext, "db" | "clock">): Promise<void> => {
  await ctx.db.job_proxies.forgetEnded(ctx.clock.now() - STORED_WITHIN_MS);
};
