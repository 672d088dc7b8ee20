import { and, eq, inArray, lt, notExists, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import type { JobProxiesRepo } from "./fleet-types.ts";

export function jobProxiesRepo({ q, t: { job_proxies, jobs } }: Conn): JobProxiesRepo {
  const going = q
    .select({ one: sql`1` })
    .from(jobs)
    .where(and(eq(jobs.job_id, job_proxies.job_id), inArray(jobs.status, ["queued", "running"])));
  return {
    put: async (row) => {
      await q.insert(job_proxies).values(row);
    },
    get: async (job_id) => {
      const [row] = await q.select().from(job_proxies).where(eq(job_proxies.job_id, job_id));
      return row?.proxy ?? null;
    },
    list: async () => q.select().from(job_proxies),
    replace: async (job_id, proxy) => {
      await q.update(job_proxies).set({ proxy }).where(eq(job_proxies.job_id, job_id));
    },
    forgetEnded: async (created_before) => {
      const gone = await q
        .delete(job_proxies)
        .where(and(lt(job_proxies.created_at, created_before), notExists(going)))
        .returning({ job_id: job_proxies.job_id });
      return gone.length;
    },
  };
}
