import { describe, expect, test } from "bun:test";
import type {
  ConventionRow,
  EngineRow,
  JobRow,
  PresetRow,
  SkillRow,
} from "#hub/platform/db/rows.ts";
import { type Circumstances, decide } from "#hub/platform/rollout/decide.ts";
import { readState, writeState } from "#hub/platform/rollout/state.ts";
import { silentLog } from "#shared/kit/log.ts";
import { eachDialect, jobRow } from "#test/support/servers/db.ts";

const NOW = 1_700_000_000_000;
const times = (n: number) => Array.from({ length: n }, (_, i) => i);

const engine = (slug: string, more: Partial<EngineRow> = {}): Omit<EngineRow, "promoted"> => ({
  slug,
  name: `Engine ${slug}`,
  kind: "chat",
  protocol: "openai",
  endpoint: "http://llm.test:8080",
  model: "tiny",
  timeout_s: 12.5,
  supports_tools: true,
  use_for_codegen: false,
  api_key_env: null,
  notes: "a\u0000b ✓",
  updated_at: NOW,
  ...more,
});
const dated = { created_at: NOW, updated_at: NOW };
const preset = (slug: string, more: Partial<PresetRow> = {}): PresetRow => ({
  slug,
  name: "Long",
  description: "",
  options: { scroll: true, idle_seconds: 0.5 },
  ...dated,
  ...more,
});
const skill = (slug: string, more: Partial<SkillRow> = {}): SkillRow => ({
  slug,
  name: "",
  description: "",
  host_pattern: "*",
  code: "await 1;",
  tags: ["a", "b"],
  created_by: "ai",
  created_from_job: "job1",
  ...dated,
  ...more,
});
const convention = (slug: string, more: Partial<ConventionRow> = {}): ConventionRow => ({
  slug,
  title: "T",
  text: "Be brief.",
  enabled: true,
  ...dated,
  ...more,
});

eachDialect((open) => {
  describe("engines (rules/engines#engine-calls)", () => {
    test("are put, read back as they were, listed by slug and deleted", async () => {
      const db = await open();
      await db.engines.put(engine("b"));
      expect(await db.engines.put(engine("a"))).toMatchObject({ slug: "a", promoted: false });
      const { notes: _, ...rest } = engine("a", { model: "big", updated_at: NOW + 1 });
      await db.engines.put(engine("a", rest));
      expect(await db.engines.get("a")).toMatchObject({ ...rest, promoted: false });
      expect((await db.engines.list()).map((row) => row.slug)).toEqual(["a", "b"]);
      expect(await db.engines.delete("a")).toBe(true);
      expect(await db.engines.delete("a")).toBe(false);
      expect(await db.engines.get("a")).toBeNull();
      expect(await db.engines.get("\u0000")).toBeNull();
    });

    test("of 20 promotions at once exactly one engine is left promoted (rules/engines#promoted-engine)", async () => {
      const db = await open();
      await Promise.all(times(5).map((i) => db.engines.put(engine(`e${i}`))));
      const answers = await Promise.all(times(20).map((i) => db.engines.promote(`e${i % 5}`)));
      expect(answers.every((row) => row?.promoted === true)).toBe(true);
      const promoted = (await db.engines.list()).filter((row) => row.promoted);
      expect(promoted).toHaveLength(1);
    });

    test("promoting what is not there changes nothing (rules/engines#promoted-engine)", async () => {
      const db = await open();
      await db.engines.put(engine("a"));
      await db.engines.promote("a");
      expect(await db.engines.promote("b")).toBeNull();
      expect(await db.engines.get("a")).toMatchObject({ promoted: true });
    });

    test("a promoted engine that is put again stays promoted; deleting it leaves none (rules/engines#promoted-engine)", async () => {
      const db = await open();
      await db.engines.put(engine("a"));
      await db.engines.put(engine("b"));
      await db.engines.promote("a");
      expect(await db.engines.put(engine("a", { model: "new" }))).toMatchObject({
        promoted: true,
        model: "new",
      });
      await db.engines.delete("a");
      expect((await db.engines.list()).filter((row) => row.promoted)).toEqual([]);
    });
  });

  describe("presets, skills and conventions (rules/library#registry-calls)", () => {
    test("a put replaces all but created_at", async () => {
      const db = await open();
      const later = { created_at: NOW + 5, updated_at: NOW + 5 };
      const kept = { created_at: NOW, updated_at: NOW + 5 };
      expect(await db.presets.put(preset("p"))).toEqual(preset("p"));
      const other = { options: { headless: null }, name: "N" };
      expect(await db.presets.put(preset("p", { ...other, ...later }))).toEqual(
        preset("p", { ...other, ...kept }),
      );
      expect(await db.skills.put(skill("s"))).toEqual(skill("s"));
      expect(await db.skills.put(skill("s", { tags: [], ...later }))).toEqual(
        skill("s", { tags: [], ...kept }),
      );
      expect(await db.conventions.put(convention("c"))).toEqual(convention("c"));
      expect(await db.conventions.put(convention("c", { enabled: false, ...later }))).toEqual(
        convention("c", { enabled: false, ...kept }),
      );
    });

    test("are listed by slug and deleted", async () => {
      const db = await open();
      await db.presets.put(preset("b"));
      await db.presets.put(preset("a"));
      expect((await db.presets.list()).map((row) => row.slug)).toEqual(["a", "b"]);
      expect(await db.presets.delete("a")).toBe(true);
      expect(await db.presets.delete("a")).toBe(false);
      expect(await db.presets.get("a")).toBeNull();
    });

    test("skills are found by their patterns first, newest in front", async () => {
      const db = await open();
      await db.skills.put(skill("old", { host_pattern: "a.test" }));
      await db.skills.put(skill("new", { updated_at: NOW + 1 }));
      expect(await db.skills.patterns()).toEqual([
        expect.objectContaining({ slug: "new", host_pattern: "*" }),
        expect.objectContaining({ slug: "old", host_pattern: "a.test" }),
      ]);
      expect((await db.skills.find(["old", "none", "new"])).map((row) => row.slug)).toEqual([
        "new",
        "old",
      ]);
      expect(await db.skills.find([])).toEqual([]);
    });

    test("only enabled conventions are listed as such", async () => {
      const db = await open();
      await db.conventions.put(convention("off", { enabled: false }));
      await db.conventions.put(convention("on"));
      expect((await db.conventions.listEnabled()).map((row) => row.slug)).toEqual(["on"]);
    });
  });

  describe("settings and what they bound (rules/settings#change-settings)", () => {
    test("several are set and unset at once, and found by their keys", async () => {
      const db = await open();
      await db.settings.set("gone", 1, NOW);
      await db.settings.setAll({ list: ["x"], gone: null, zero: 0 }, NOW);
      const rows = await db.settings.find(["zero", "list", "gone", "none"]);
      expect(Object.fromEntries(rows.map(({ key, value }) => [key, value]))).toEqual({
        list: ["x"],
        zero: 0,
      });
      expect(await db.settings.find([])).toEqual([]);
      await db.settings.setAll({}, NOW);
    });

    test("jobs that have ended, oldest first of every status; bytes of all", async () => {
      const db = await open();
      expect(await db.jobs.fileBytes()).toBe(0);
      const add = (job_id: string, at: number, more: Partial<JobRow>) =>
        db.jobs.insert(jobRow({ job_id, created_at: NOW + at, asset_bytes: 10, ...more }));
      await add("c", 3, { status: "cancelled", finished_at: NOW + 4 });
      await add("a", 1, { status: "completed", finished_at: NOW + 9 });
      await add("b", 2, { status: "failed", finished_at: NOW + 3, asset_bytes: 0 });
      await add("d", 0, { status: "running" });
      const ids = async (filter: object) =>
        (await db.jobs.oldestEnded({ limit: 9, ...filter })).map(({ job_id }) => job_id);
      expect(await ids({})).toEqual(["a", "b", "c"]);
      expect(await ids({ limit: 2 })).toEqual(["a", "b"]);
      expect(await ids({ after: { job_id: "a", created_at: NOW + 1 } })).toEqual(["b", "c"]);
      await add("bb", 2, { status: "cancelled", finished_at: NOW + 5, asset_bytes: 0 });
      expect(await ids({ after: { job_id: "b", created_at: NOW + 2 } })).toEqual(["bb", "c"]);
      await db.jobs.deleteTerminal("bb");
      expect(await ids({ with_files: true })).toEqual(["a", "c"]);
      expect(await ids({ ended_before: NOW + 4 })).toEqual(["b", "c"]);
      expect(await db.jobs.fileBytes()).toBe(30);
      expect(await db.documents.put("b", "har.json", 5_000_000_000)).toBe(true);
      await Promise.all([
        db.documents.put("b", "har.json", 5),
        db.documents.put("b", "page.html", 2),
      ]);
      expect(await db.documents.put("nobody", "har.json", 1)).toBe(false);
      expect(await db.jobs.get("b")).toMatchObject({ asset_bytes: 0, document_bytes: 7 });
      expect(await db.jobs.fileBytes()).toBe(37);
      const rows = await db.jobs.oldestEnded({ with_files: true, limit: 9 });
      expect(rows.map(({ job_id, file_bytes }) => [job_id, file_bytes])).toEqual([
        ["a", 10],
        ["b", 7],
        ["c", 10],
      ]);
      expect(await db.jobs.endedCount()).toBe(3);
    });
  });

  describe("settings", () => {
    test("of 20 writes that all know the same value one is taken, and its mark moves on", async () => {
      const db = await open();
      const { settings } = db;
      expect(await settings.replace("k", 1, { was: NOW, written_at: NOW + 1 })).toBe(false);
      expect(await settings.add("k", { n: 0 }, NOW)).toBe(true);
      const won = await Promise.all(
        times(20).map((n) => settings.replace("k", { n }, { was: NOW, written_at: NOW + 1 })),
      );
      expect(won.filter(Boolean)).toHaveLength(1);
      const [row] = await settings.find(["k"]);
      expect(row).toMatchObject({ value: { n: won.indexOf(true) }, updated_at: NOW + 1 });
      expect(await settings.replace("k", null, { was: NOW, written_at: NOW + 2 })).toBe(false);
    });

    test("of two hubs that decide at once one sends a worker, and the other sees it (rules/updates#one-worker-after-the-other)", async () => {
      const { settings } = await open();
      const circumstances = (worker_id: string): Circumstances => ({
        now: NOW,
        hub_versions: ["new"],
        kinds: ["browser"],
        proofs: new Map(),
        watching_since: 0,
        parallel: 1,
        approval: "auto",
        deadline_ms: 1_000,
        workers: [
          {
            kind: "browser",
            worker_id,
            version: "old",
            active: true,
            in_flight: 0,
            unwell: null,
            report: null,
            waits_for_order: true,
            since: 0,
          },
        ],
      });
      const before = await readState(settings, silentLog);
      const wins = await Promise.all(
        ["w1", "w2"].map(async (id) => {
          const { state } = decide(before.state, circumstances(id));
          return (await writeState(settings, before, state, NOW)) !== null;
        }),
      );
      expect(wins.filter(Boolean)).toHaveLength(1);
      const after = await readState(settings, silentLog);
      const { state } = decide(after.state, circumstances(wins[0] ? "w2" : "w1"));
      expect(Object.keys(state.turns)).toHaveLength(1);
      expect(await writeState(settings, after, state, NOW)).not.toBeNull();
      expect(await writeState(settings, after, state, NOW)).toBeNull();
    });
  });
});
