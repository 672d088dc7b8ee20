import { expect, test } from "bun:test";
import type { Db } from "#hub/platform/db/storage.ts";
import { eachDialect, jobRow } from "#test/support/servers/db.ts";

const NOW = 1_700_000_000_000;
const CLAIM = { op: "claim", worker: "w", worker_id: "w1", lease_ms: 60_000 } as const;
const UNBOUND = { timeout_ms: null, max_in_flight: null, rate_limit: null };
const task = (pk: string, labels?: Record<string, string>) => ({
  pk,
  extra: null,
  priority: 0,
  max_attempts: 1,
  run_at: null,
  ...(labels && { labels }),
});
const printed = { duration_ms: 1, stdout: "", stderr: "", truncated: false };

const workload = (slug: string) => ({
  slug,
  name: slug,
  description: "",
  enabled: true,
  supervisor_enabled: false,
  executor_type: "command" as const,
  executor_config: { argv: ["true"] } as never,
  priority: 0,
  batch_size: 1,
  lease_secs: 60,
  max_attempts: 1,
  timeout_s: null,
  host_affinity: [],
  rate_limit: null,
  max_in_flight: null,
  emits: [],
  schedule: null,
  backoff: { kind: "fixed", base_s: 0, max_s: 0, jitter: 0 } as never,
  schedule_tz: "UTC",
  created_at: NOW,
  updated_at: NOW,
});

/** Five tasks of two workloads: one succeeded, one failed, three wait. */
async function filled(db: Db): Promise<void> {
  const queue = db.openQueue({ node: "n", now: () => NOW, random: () => 0.5 });
  const made = await Promise.all([
    db.workloads.insert(workload("bills")),
    db.workloads.insert(workload("mails")),
  ]);
  const [bills = 0, mails = 0] = made.map((row) => row?.workload_id ?? 0);
  const tasks = [task("acme-1", { region: "eu" }), task("acme-2")];
  await queue.flush([{ op: "submit", workload_id: bills, tasks }]);
  const [claim] = await queue.flush([{ ...CLAIM, ...UNBOUND, workload_id: bills, max: 2 }]);
  const held = (claim as { tasks: { task_id: number; epoch: number; pk: string }[] }).tasks;
  const of = (pk: string) => held.find((one) => one.pk === pk) ?? { task_id: 0, epoch: 0 };
  await queue.flush([
    { op: "complete", worker: "w", items: [{ ...of("acme-1"), ...printed, output: null }] },
    {
      op: "fail",
      worker: "w",
      workload_id: bills,
      backoff: { kind: "fixed", base_s: 0, max_s: 0, jitter: 0 } as never,
      items: [
        {
          ...of("acme-2"),
          ...printed,
          outcome: "error",
          no_retry: true,
          retry_after_ms: null,
          error: `Trace\n${"step\n".repeat(900)}KeyError: giraffe`,
        },
      ],
    },
  ]);
  const waiting = ["acme-9", "Acme-8", "100%_"].map((pk) => task(pk));
  await queue.flush([{ op: "submit", workload_id: mails, tasks: waiting }]);
  await queue.close();
}

eachDialect((open) => {
  test("tasks and runs are found by key, label, number and error (rules/search#what-is-searched)", async () => {
    const db = await open();
    await filled(db);
    const tasks = async (q: string) =>
      (await db.search.tasks(q, null, 9)).map(({ pk, slug }) => `${slug} ${pk}`).sort();
    expect(await tasks("acme-")).toEqual(["bills acme-2", "mails acme-9"]);
    expect(await tasks("100%_")).toEqual(["mails 100%_"]);
    expect(await tasks("100_%")).toEqual([]);
    const runs = async (q: string, label: { key: string; value: string } | null = null) =>
      [...new Set((await db.search.runs(q, label, 9)).map(({ pk }) => pk))].sort();
    expect(await runs("acme-")).toEqual(["acme-1", "acme-2"]);
    expect(await runs("giraffe keyerror")).toEqual(["acme-2"]);
    expect(await runs("region:eu", { key: "region", value: "eu" })).toEqual(["acme-1"]);
    const [one] = await db.search.runs("acme-2", null, 1);
    expect(await runs(String(one?.run_id))).toEqual(["acme-2"]);
    expect(await runs("nobody")).toEqual([]);
  });

  test("jobs are found by the beginning of their id, registries by a part of their names", async () => {
    const db = await open();
    const rows = [jobRow({ job_id: "abcd01" }), jobRow({ job_id: "abce02" })];
    for (const row of rows) await db.jobs.insert(row);
    const ids = async (prefix: string) =>
      (await db.search.jobsById(prefix, 9)).map(({ job_id }) => job_id);
    expect(await ids("abc")).toEqual(["abcd01", "abce02"]);
    expect(await ids("abce")).toEqual(["abce02"]);
    expect(await ids("abcz")).toEqual([]);
    const stamps = { created_at: NOW, updated_at: NOW };
    await db.presets.put({
      slug: "long",
      name: "Long Pages",
      description: "50% scroll",
      options: {},
      ...stamps,
    });
    const [found] = await db.search.named("presets", "pages LONG", 9);
    expect(found).toMatchObject({ id: "long", title: "Long Pages", at: NOW });
    for (const table of ["hosts", "skills", "engines", "watches", "workers", "agents"] as const)
      expect(await db.search.named(table, "long", 9)).toEqual([]);
    for (const table of ["profiles", "pull_workers"] as const)
      expect(await db.search.named(table, "%", 9)).toEqual([]);
  });
});
