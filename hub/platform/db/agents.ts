import { and, asc, eq, lt, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import { first } from "./first.ts";
import type { AgentsRepo } from "./pipeline-types.ts";
import type { AgentRow } from "./rows.ts";

export function agentsRepo({ q, t: { agents } }: Conn): AgentsRepo {
  return {
    // One statement decides: an agent of another id that has not gone silent keeps the host, and the newcomer gets null.
    sync: async (host, { agent_id, report, now }, silent) => {
      const set = { agent_id, report, last_seen_at: now };
      return first<AgentRow>(
        await q
          .insert(agents)
          .values({ host, desired: [], revision: 0, ...set })
          .onConflictDoUpdate({
            target: agents.host,
            set,
            setWhere: sql`${agents.agent_id} is null or ${agents.agent_id} = ${agent_id} or ${agents.last_seen_at} is null
              or (${agents.agent_id} = ${silent?.agent_id ?? null} and ${agents.last_seen_at} = ${silent?.last_seen_at ?? null})`,
          })
          .returning(),
      );
    },
    setDesired: async (host, desired, revision) =>
      first<AgentRow>(
        await q
          .update(agents)
          .set({ desired, revision: revision + 1 })
          .where(and(eq(agents.host, host), eq(agents.revision, revision)))
          .returning(),
      ),
    forget: async (before) => {
      const nothing: AgentRow["desired"] = [];
      const rows = await q
        .delete(agents)
        .where(and(eq(agents.desired, nothing), lt(agents.last_seen_at, before)))
        .returning({ host: agents.host });
      return rows.map((row) => row.host);
    },
    get: async (host) => first(await q.select().from(agents).where(eq(agents.host, host))),
    list: () => q.select().from(agents).orderBy(asc(agents.host)),
  };
}
