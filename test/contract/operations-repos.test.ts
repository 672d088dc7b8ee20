import { describe, expect, test } from "bun:test";
import type { DeployRow } from "#hub/platform/db/rows.ts";
import type { Db } from "#hub/platform/db/storage.ts";
import { eachDialect } from "#test/support/servers/db.ts";

const times = (n: number) => Array.from({ length: n }, (_, i) => i);

const line = (ts: number, fields: Record<string, unknown> = {}) => ({
  ts,
  host: "h1",
  service: "control",
  level: 20,
  message: `line ${ts}`,
  fields: {},
  ...fields,
});
const messages = async (db: Db, filter: Record<string, unknown> = {}) =>
  (await db.service_logs.list({ limit: 100, ...filter })).map((row) => row.message);

const begin = (db: Db, node = "n1", now = 1_000) =>
  db.deploys.begin({ target: "web", args: ["--fast"], node, now });
const end = { outcome: "succeeded", exit_code: 0, error: null, log: "done\n", now: 2_000 } as const;

eachDialect((open) => {
  describe("settings (rules/pipeline-operations#settings)", () => {
    test("of 20 who add the same key at once one does, and its value stays", async () => {
      const db = await open();
      const added = await Promise.all(times(20).map((i) => db.settings.add("k", `v${i}`, i)));
      expect(added.filter((yes) => yes)).toHaveLength(1);
      expect(await db.settings.get("k")).toBe(`v${added.indexOf(true)}`);
    });

    test("a prefix lists its own keys and no others, by key", async () => {
      const db = await open();
      for (const key of ["a.2", "a.1", "a_1", "A.3", "ab"]) await db.settings.set(key, [key], 5);
      expect(await db.settings.list("a.")).toEqual([
        { key: "a.1", value: ["a.1"], updated_at: 5 },
        { key: "a.2", value: ["a.2"], updated_at: 5 },
      ]);
    });

    test("delete tells whether there was one", async () => {
      const db = await open();
      await db.settings.set("k", 1, 1);
      expect(await db.settings.delete("k")).toBe(true);
      expect(await db.settings.delete("k")).toBe(false);
    });
  });

  describe("the audit log", () => {
    const call = {
      ...({ caller_kind: "open", caller_name: null, role: null, token_id: null } as const),
      hub: "h/1",
      address: "::1",
      method: "POST",
      route: "/jobs",
      path: "/jobs",
      status: 200,
      error: null,
      times: 1,
    };
    test("of more rows than one statement holds, also of one moment, pages tell each once, newest first", async () => {
      const db = await open();
      await db.audit.append([]);
      await db.audit.append(
        times(1_250).map((i) => ({ ...call, at: Math.floor(i / 10), path: `/${i}` })),
      );
      const seen: string[] = [];
      let before: { at: number; audit_id: number } | undefined;
      for (;;) {
        const page = await db.audit.list({ limit: 400, before });
        seen.push(...page.map(({ path }) => path));
        if (page.length < 400) break;
        before = page.at(-1);
      }
      expect(seen).toEqual(times(1_250).map((i) => `/${1_249 - i}`));
    });

    test("any text is stored, and null stays null", async () => {
      const db = await open();
      await db.audit.append([
        {
          ...call,
          at: 1,
          path: "/\u0000'\"\\ü\ud800",
          caller_name: "$1 ?",
          error: null,
          route: null,
        },
      ]);
      const [row] = await db.audit.list({ limit: 1 });
      expect(row).toEqual({
        ...call,
        audit_id: expect.any(Number),
        at: 1,
        caller_name: "$1 ?",
        route: null,
        path: "/\ufffd'\"\\ü\ufffd",
      });
    });

    test("filters narrow it, and the oldest are deleted so many at a time", async () => {
      const db = await open();
      await db.audit.append([
        { ...call, at: 1, caller_kind: "token", caller_name: "ci", role: "operator" },
        { ...call, at: 2, method: "DELETE", route: null, status: 404 },
        { ...call, at: 3, address: "10.0.0.9", status: 401 },
      ]);
      const found = async (filter: object) =>
        (await db.audit.list({ limit: 10, ...filter })).map(({ at }) => at);
      expect(await found({ who: "ci" })).toEqual([1]);
      expect(await found({ who: "token" })).toEqual([1]);
      expect(await found({ who: "10.0.0.9" })).toEqual([3]);
      expect(await found({ method: "DELETE" })).toEqual([2]);
      expect(await found({ route: "/jobs", since: 2 })).toEqual([3]);
      expect(await found({ status: { from: 400, to: 499 }, until: 3 })).toEqual([2]);
      expect(await db.audit.deleteBefore(3, 1)).toBe(1);
      expect(await found({})).toEqual([3, 2]);
      expect(await db.audit.deleteBefore(3, 10)).toBe(1);
      expect(await db.audit.deleteBefore(3, 10)).toBe(0);
    });
  });

  describe("service logs (rules/pipeline-operations#service-logs)", () => {
    test("are listed newest first and filtered by host, service, level, time and text", async () => {
      const db = await open();
      await db.service_logs.append([
        line(1, { message: "job 100% Done", level: 30, fields: { worker_id: "W_7" } }),
        line(2, { host: "h2", level: 10 }),
        line(3, { service: "worker", level: 40 }),
      ]);
      expect(await messages(db)).toEqual(["line 3", "line 2", "job 100% Done"]);
      expect(await messages(db, { host: "h2" })).toEqual(["line 2"]);
      expect(await messages(db, { service: "worker" })).toEqual(["line 3"]);
      expect(await messages(db, { min_level: 30 })).toEqual(["line 3", "job 100% Done"]);
      expect(await messages(db, { since: 2, until: 3 })).toEqual(["line 2"]);
      for (const q of ["00% d", "w_7"])
        expect(await messages(db, { q })).toEqual(["job 100% Done"]);
      for (const q of ["0_% d", "w%7", "\\"]) expect(await messages(db, { q })).toEqual([]);
    });

    test("page by page nothing is left out or told twice, also among lines of one moment", async () => {
      const db = await open();
      await db.service_logs.append(
        times(25).map((i) => line(Math.floor(i / 10), { message: `m${i}` })),
      );
      const seen: string[] = [];
      let before: { ts: number; log_id: number } | undefined;
      for (;;) {
        const page = await db.service_logs.list({ limit: 4, before });
        seen.push(...page.map((row) => row.message));
        if (page.length < 4) break;
        before = page.at(-1);
      }
      expect(seen).toEqual(times(25).map((i) => `m${24 - i}`));
    });

    test("more rows than one statement may hold are stored, with any text", async () => {
      const db = await open();
      await db.service_logs.append([]);
      await db.service_logs.append(
        times(2_500).map((i) => line(i, { message: "nul \u0000 \ud800" })),
      );
      expect(await db.service_logs.list({ limit: 3_000 })).toHaveLength(2_500);
    });

    test("old ones go in chunks, oldest first, and so does what is beyond the newest", async () => {
      const db = await open();
      await db.service_logs.append(times(10).map((i) => line(i)));
      expect(await db.service_logs.deleteBefore(5, 3)).toBe(3);
      expect(await messages(db, { until: 5 })).toEqual(["line 4", "line 3"]);
      expect(await db.service_logs.deleteBefore(5, 3)).toBe(2);
      expect(await db.service_logs.deleteBeyond(2, 2)).toBe(2);
      expect(await db.service_logs.deleteBeyond(2, 2)).toBe(1);
      expect(await db.service_logs.deleteBeyond(2, 2)).toBe(0);
      expect(await messages(db)).toEqual(["line 9", "line 8"]);
    });

    test("none at all is nothing to delete", async () => {
      const db = await open();
      expect(await db.service_logs.deleteBeyond(0, 10)).toBe(0);
      expect(await db.service_logs.deleteBefore(10, 10)).toBe(0);
    });
  });

  describe("deploys (rules/pipeline-operations#deploys)", () => {
    test("of 20 that begin at once one does; the next may once it has ended", async () => {
      const db = await open();
      const begun = await Promise.all(times(20).map((i) => begin(db, `n${i}`)));
      const won = begun.filter((row): row is DeployRow => row !== null);
      expect(won).toHaveLength(1);
      const [{ deploy_id, node } = { deploy_id: 0, node: "" }] = won;
      expect(await db.deploys.running()).toMatchObject({ deploy_id, target: "web", log: "" });
      expect(await db.deploys.finish(deploy_id, node, end)).toMatchObject({
        running: null,
        outcome: "succeeded",
        exit_code: 0,
        finished_at: 2_000,
        log: "done\n",
      });
      expect(await db.deploys.running()).toBeNull();
      expect(await begin(db)).not.toBeNull();
    });

    test("only its own node beats and ends it, and only while it runs", async () => {
      const db = await open();
      const { deploy_id } = (await begin(db)) as DeployRow;
      expect(await db.deploys.beat(deploy_id, "n2", "x", 1)).toBe(false);
      expect(await db.deploys.finish(deploy_id, "n2", end)).toBeNull();
      expect(await db.deploys.rename(deploy_id, "n2", "n2 7")).toBe(false);
      expect(await db.deploys.rename(deploy_id, "n1", "n1 7")).toBe(true);
      expect(await db.deploys.rename(deploy_id, "n1 7", "n1")).toBe(true);
      expect(await db.deploys.beat(deploy_id, "n1", "half", 1_500)).toBe(true);
      expect(await db.deploys.get(deploy_id)).toMatchObject({ log: "half", beat_at: 1_500 });
      expect(await db.deploys.finish(deploy_id, "n1", end)).not.toBeNull();
      expect(await db.deploys.finish(deploy_id, "n1", end)).toBeNull();
      expect(await db.deploys.beat(deploy_id, "n1", "late", 3_000)).toBe(false);
    });

    test("one whose process is gone is interrupted once, and one that beats meanwhile is not", async () => {
      const db = await open();
      const stale = (await begin(db)) as DeployRow;
      await db.deploys.beat(stale.deploy_id, "n1", "alive", 1_500);
      expect(await db.deploys.interrupt(stale, "gone", 9_000)).toBeNull();
      const fresh = (await db.deploys.running()) as DeployRow;
      const ended = await Promise.all(
        times(5).map(() => db.deploys.interrupt(fresh, "gone", 9_000)),
      );
      expect(ended.filter((row) => row !== null)).toEqual([
        expect.objectContaining({ outcome: "interrupted", error: "gone", log: "alive" }),
      ]);
      expect(await db.deploys.finish(stale.deploy_id, "n1", end)).toBeNull();
    });

    test("history is newest first, and keeping the newest deletes no running one", async () => {
      const db = await open();
      for (const _ of times(4)) {
        const { deploy_id } = (await begin(db)) as DeployRow;
        await db.deploys.finish(deploy_id, "n1", end);
      }
      const running = (await begin(db)) as DeployRow;
      await db.deploys.keepNewest(3);
      const ids = (await db.deploys.list(10)).map((row) => row.deploy_id);
      expect(ids).toEqual([0, 1, 2].map((i) => running.deploy_id - i));
      const older = await db.deploys.list(1, running.deploy_id);
      expect(older.map((row) => row.deploy_id)).toEqual([running.deploy_id - 1]);
      await db.deploys.keepNewest(0);
      expect((await db.deploys.list(10)).map((row) => row.deploy_id)).toEqual([running.deploy_id]);
    });
  });
});
