import { asc, gte } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import type { CpuMinutesRepo } from "./view-types.ts";

export function cpuMinutesRepo({ q, t: { cpu_minutes } }: Conn): CpuMinutesRepo {
  const { minute, host } = cpu_minutes;
  return {
    put: async (row) => {
      await q
        .insert(cpu_minutes)
        .values(row)
        .onConflictDoNothing({ target: [minute, host] });
    },
    list: (since) =>
      q.select().from(cpu_minutes).where(gte(minute, since)).orderBy(asc(host), asc(minute)),
  };
}
