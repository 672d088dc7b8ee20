import { and, desc, eq, isNull, lt, type SQL, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import { first } from "./first.ts";
import { notBefore } from "./not-before.ts";
import type { DeploysRepo } from "./platform-types.ts";
import type { DeployRow } from "./rows.ts";

const RUNNING = 1;

type Deploys = Conn["t"]["deploys"];

/** The running deploy, while it belongs to this node. */
const ofNode = (deploys: Deploys, deploy_id: number, node: string): SQL | undefined =>
  and(eq(deploys.deploy_id, deploy_id), eq(deploys.running, RUNNING), eq(deploys.node, node));

/** From the start of a deploy to its end, its node writes, unless another node finds it silent. */
function runningDeploys({
  q,
  t: { deploys },
}: Conn): Pick<DeploysRepo, "begin" | "rename" | "beat" | "finish" | "interrupt"> {
  const write = async (deploy_id: number, node: string, set: Partial<DeployRow>) => {
    const rows = await q
      .update(deploys)
      .set(set)
      .where(ofNode(deploys, deploy_id, node))
      .returning({ deploy_id: deploys.deploy_id });
    return rows.length > 0;
  };
  return {
    // The unique index on `running` decides: of any number of calls one gets the row in.
    begin: async ({ target, args, node, now }) =>
      first<DeployRow>(
        await q
          .insert(deploys)
          .values({
            target,
            args,
            node,
            log: "",
            running: RUNNING,
            started_at: now,
            beat_at: now,
          })
          .onConflictDoNothing({ target: deploys.running })
          .returning(),
      ),
    rename: (deploy_id, node, named) => write(deploy_id, node, { node: named }),
    beat: (deploy_id, node, log, now) => write(deploy_id, node, { log, beat_at: now }),
    finish: async (deploy_id, node, { now, ...end }) =>
      first<DeployRow>(
        await q
          .update(deploys)
          .set({ ...end, running: null, finished_at: notBefore(deploys.started_at, now) })
          .where(ofNode(deploys, deploy_id, node))
          .returning(),
      ),
    // A beat that came meanwhile shows that it is alive.
    interrupt: async ({ deploy_id, node, beat_at }, error, now) =>
      first<DeployRow>(
        await q
          .update(deploys)
          .set({
            running: null,
            finished_at: notBefore(deploys.started_at, now),
            outcome: "interrupted",
            error,
          })
          .where(
            and(
              ofNode(deploys, deploy_id, node),
              beat_at === null ? isNull(deploys.beat_at) : eq(deploys.beat_at, beat_at),
            ),
          )
          .returning(),
      ),
  };
}

export function deploysRepo(conn: Conn): DeploysRepo {
  const {
    q,
    t: { deploys },
  } = conn;
  return {
    ...runningDeploys(conn),
    running: async () => first(await q.select().from(deploys).where(eq(deploys.running, RUNNING))),
    list: (limit, before) =>
      q
        .select()
        .from(deploys)
        .where(before === undefined ? undefined : lt(deploys.deploy_id, before))
        .orderBy(desc(deploys.deploy_id))
        .limit(limit),
    get: async (deploy_id) =>
      first(await q.select().from(deploys).where(eq(deploys.deploy_id, deploy_id))),
    keepNewest: async (keep) => {
      await q
        .delete(deploys)
        .where(
          and(
            isNull(deploys.running),
            lt(
              deploys.deploy_id,
              sql`(select coalesce(max(deploy_id), 0) - ${keep} + 1 from deploys)`,
            ),
          ),
        );
    },
  };
}
