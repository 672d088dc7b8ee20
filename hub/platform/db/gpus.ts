import { asc, gte, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import type { GpusRepo } from "./view-types.ts";

export function gpusRepo({ q, t: { gpu_minutes } }: Conn): GpusRepo {
  const { minute, host, gpu } = gpu_minutes;
  return {
    put: async (rows) => {
      if (rows.length === 0) return;
      await q
        .insert(gpu_minutes)
        .values(rows)
        .onConflictDoUpdate({
          target: [minute, host, gpu],
          set: {
            name: sql`excluded.name`,
            util_percent: sql`excluded.util_percent`,
            mem_used_mb: sql`excluded.mem_used_mb`,
            mem_total_mb: sql`excluded.mem_total_mb`,
          },
        });
    },
    list: (since) =>
      q
        .select()
        .from(gpu_minutes)
        .where(gte(minute, since))
        .orderBy(asc(host), asc(gpu), asc(minute)),
  };
}
