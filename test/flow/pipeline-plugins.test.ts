import { afterEach, describe, expect, test } from "bun:test";
import { cp, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { askUntil, createPullRig } from "#test/support/rigs/pull-rig.ts";

/** Workers that have none of the plugins' folders run them from the control plane (rules/pipeline-plugins#plugin-archive). */

const EXAMPLES = join(import.meta.dir, "../../hub/program/demo/plugins");
const rig = createPullRig();
afterEach(() => rig.close());
const { api } = rig;

/** A hub with the example plugins, and the folder they are in. */
async function control(env: Record<string, string> = {}): Promise<string> {
  const dir = await rig.tempDir();
  await cp(EXAMPLES, dir, { recursive: true });
  await rig.start({ env: { SVC_PLUGINS_DIR: dir, ...env } });
  return dir;
}

const fetched = (worker: { dir: string }) => readdir(join(worker.dir, "plugins"));

async function add(slug: string, fields: Record<string, unknown>, init?: RequestInit) {
  const { status, text } = await api("POST", "/workloads", { slug, ...fields }, init);
  if (status !== 201) throw new Error(text);
}
const submit = (slug: string, items: { pk: string; extra?: unknown }[], init?: RequestInit) =>
  api("POST", `/workloads/${slug}/tasks/batch`, { items }, init);
const runsOf = (slug: string, n: number, init?: RequestInit) =>
  askUntil(`${n} runs of ${slug}`, async () => {
    const { body } = await api("GET", `/workloads/${slug}/runs?limit=500`, undefined, init);
    return body.runs.length >= n && body.runs;
  });

describe("the example plugins, run by a worker that has none of them (rules/pipeline-executors#where-the-code-is)", () => {
  test("python_module: totals of all slots are right, the picture is a blob, one folder was fetched once", async () => {
    await control();
    await add("words", {
      executor_type: "python_module",
      batch_size: 10,
      executor_config: { plugin: "word-count", init_kwargs: { top: 3 } },
    });
    const items = Array.from({ length: 60 }, (_, i) => ({
      pk: `t${i}`,
      extra: { text: `the sea, the sky\nand ${i % 2 ? "<ships>" : "whales"}` },
    }));
    await submit("words", items);
    const worker = await rig.worker();
    const runs = await runsOf("words", 60);
    expect(runs.filter((run: { success: boolean }) => !run.success)).toEqual([]);
    expect(runs[0]).toMatchObject({
      output_json: { words: 6, lines: 2, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
      stdout: "6 words in 2 lines\n",
    });
    const { body } = await api("GET", "/plugins/word-count/state/totals");
    expect(body.value).toMatchObject({ texts: 60, total: 360 });
    expect(Object.fromEntries(body.value.words)).toEqual({
      the: 120,
      sea: 60,
      sky: 60,
      and: 60,
      ships: 30,
      whales: 30,
    });
    const picture = await api("GET", "/plugins/word-count/blob/top.svg");
    expect(picture.headers.get("content-type")).toBe("image/svg+xml");
    expect(picture.text).toContain("words in");
    expect(await fetched(worker)).toEqual([expect.stringMatching(/^word-count@[0-9a-f]{64}$/)]);
    expect(worker.log.filter((line) => line.includes("plugin fetched"))).toHaveLength(1);
  }, 180_000);

  test("bun_module: each profile is state under a key with slashes", async () => {
    await control();
    await add("csv", { executor_type: "bun_module", executor_config: { plugin: "csv-profile" } });
    const csv = 'name,age,born\n"Ada, L.",36,1815-12-10\nAlan,41,1912-06-23\nGrace,,\n';
    await submit("csv", [{ pk: "people/2024", extra: { csv } }]);
    await rig.worker();
    const [run] = await runsOf("csv", 1);
    expect(run).toMatchObject({ success: true, error: null });
    const { body } = await api("GET", "/plugins/csv-profile/state/profiles/people/2024");
    expect(body.value).toEqual(run.output_json);
    expect(body.value).toEqual({
      rows: 3,
      columns: [
        { name: "name", type: "text", filled: 3, distinct: 3, min: "Ada, L.", max: "Grace" },
        { name: "age", type: "number", filled: 2, distinct: 2, min: 36, max: 41 },
        {
          name: "born",
          type: "date",
          filled: 2,
          distinct: 2,
          min: "1815-12-10",
          max: "1912-06-23",
        },
      ],
    });
    expect((await api("GET", "/plugins/csv-profile/blob/last.svg")).text).toContain("3 rows");
  }, 180_000);

  test("command: its words name the fetched folder, its state and blob come through the worker", async () => {
    await control();
    await add("disks", { executor_type: "command", executor_config: { plugin: "disk-usage" } });
    await submit("disks", [{ pk: "/tmp" }, { pk: "/not/there" }]);
    await rig.worker();
    const runs = await runsOf("disks", 2);
    const [good, bad] = ["/tmp", "/not/there"].map((pk) =>
      runs.find((run: { pk: string }) => run.pk === pk),
    );
    expect(good).toMatchObject({ success: true, output_json: { path: "/tmp" } });
    expect(bad).toMatchObject({ success: false, stderr: "/not/there is not a directory here\n" });
    const { body } = await api("GET", "/plugins/disk-usage/state/disks/tmp");
    expect(body.value).toEqual(good.output_json);
  }, 180_000);

  test("fleet_fetch runs the fleet's code: its state and blob are what whoever submits keeps there", async () => {
    await control();
    await api("PUT", "/plugins/page-fetch/state/watchlist", ["https://site.test/"]);
    const svg = '<svg xmlns="http://www.w3.org/2000/svg"/>';
    const headers = { "content-type": "image/svg+xml" };
    await api("PUT", "/plugins/page-fetch/blob/cover.svg", svg, { headers });
    const { body } = await api("GET", "/plugins/page-fetch/state/watchlist");
    expect(body.value).toEqual(["https://site.test/"]);
    expect((await api("GET", "/plugins/page-fetch/blob/cover.svg")).text).toBe(svg);
    await add("pages", {
      executor_type: "fleet_fetch",
      executor_config: { plugin: "page-fetch", options: { wait_seconds: 0 } },
    });
    const incarnation = "incarnation-1";
    await api("POST", "/workers/w1/register", { incarnation, host: "h", slots: 1, version: "1" });
    await submit("pages", [{ pk: "https://site.test/" }]);
    const claimed = await api("POST", "/workers/w1/claim", { incarnation, slots: 1 });
    expect(claimed.body.workloads[0]).toMatchObject({
      executor_config: { options: { wait_seconds: 0, scroll: true, scroll_max: 6000 } },
      plugin: { slug: "page-fetch", error: null },
    });
  });

  test("every one has a page, and pictures and scripts of it are its own", async () => {
    await control();
    for (const slug of ["word-count", "csv-profile", "disk-usage", "page-fetch"]) {
      const { status, text } = await api("GET", `/plugins/${slug}/web/`);
      expect(status).toBe(200);
      expect(text).toContain("../blob/");
      expect(text).not.toMatch(/(https?:)?\/\/[a-z]/);
    }
    const { body } = await api("GET", "/plugins/available");
    // And the one that the program brings along.
    expect(body.plugins.map((p: { errors: string[] }) => p.errors)).toEqual([[], [], [], [], []]);
  });
});

describe("versions of a plugin (rules/pipeline-plugins#versions-of-a-plugin)", () => {
  const pythonPlugin = async (dir: string, slug: string, source: string) => {
    await mkdir(join(dir, slug), { recursive: true });
    const executor = { type: "python_module", module: "main" };
    const manifest = { slug, name: slug, version: "1", executor };
    await writeFile(join(dir, slug, "plugin.json"), JSON.stringify(manifest));
    await writeFile(join(dir, slug, "main.py"), source);
  };

  test("a changed plugin is run as it is now; versions that nobody runs are pruned to two", async () => {
    const dir = await control();
    await pythonPlugin(dir, "changing", "def run(pk): return -1");
    await api("GET", "/plugins/available");
    await add("changing", {
      executor_type: "python_module",
      executor_config: { plugin: "changing" },
    });
    const worker = await rig.worker();
    for (let version = 0; version < 3; version += 1) {
      await pythonPlugin(dir, "changing", `def run(pk): return ${version}`);
      await api("GET", "/plugins/available");
      await submit("changing", [{ pk: "same" }]);
      const runs = await runsOf("changing", version + 1);
      expect(runs[0]).toMatchObject({ success: true, output_json: version });
    }
    await worker.stop(1_000);
    expect(await fetched(worker)).toHaveLength(2);
  }, 180_000);

  test("a plugin that broke, went or is of another type now burns no attempt, and is run once it is mended", async () => {
    const dir = await control();
    for (const slug of ["late", "none", "wrong"]) {
      await pythonPlugin(dir, slug, "def run(pk): return 1");
      await add(slug, { executor_type: "python_module", executor_config: { plugin: slug } });
      await submit(slug, [{ pk: "a" }]);
    }
    await writeFile(join(dir, "late", "plugin.json"), "{");
    await rm(join(dir, "none"), { recursive: true });
    const executor = { type: "command", argv: ["true"] };
    const other = { slug: "wrong", name: "wrong", version: "2", executor };
    await writeFile(join(dir, "wrong", "plugin.json"), JSON.stringify(other));
    await api("GET", "/plugins/available");
    const worker = await rig.worker();
    for (const reason of [
      "plugin late: plugin.json is not valid JSON",
      "the control plane has no plugin none",
      "plugin wrong is of type command, not python_module",
    ])
      await askUntil(reason, async () => worker.log.some((line) => line.includes(reason)));
    await pythonPlugin(dir, "late", "def run(pk): return 1");
    await api("GET", "/plugins/available");
    const [run] = await runsOf("late", 1);
    expect(run).toMatchObject({ success: true, attempt: 1 });
    for (const slug of ["none", "wrong"])
      expect((await api("GET", `/workloads/${slug}/runs`)).body.runs).toEqual([]);
  }, 180_000);

  test("tasks reach their plugin's state alone, and see no secret of the worker's", async () => {
    const dir = await control({ WORKER_SECRET: "worker-secret-1", SVC_API_TOKEN: "api-token-1" });
    await pythonPlugin(
      dir,
      "nosy",
      `
import os, urllib.request, urllib.error
def status(url):
    try:
        return urllib.request.urlopen(url).status
    except urllib.error.HTTPError as err:
        return err.code
def run(pk, extra, ctx):
    url = os.environ["FLOTILLA_STORE_URL"]
    ctx.state.set("own", 1)
    return {
        "own": status(url + "/state/own"),
        "others": status(url + "/../../word-count/state/own"),
        "tasks": status(url + "/state/..%2F..%2F..%2Fworkloads"),
        "plain": status(url + "/available"),
        "no_token": status("/".join(url.split("/")[:3]) + "/x/state/own"),
        "env": sorted(os.environ),
        "values": " ".join(os.environ.values()),
    }
`,
    );
    const init = { headers: { authorization: "Bearer api-token-1" } };
    await api("GET", "/plugins/available", undefined, init);
    await add(
      "nosy",
      { executor_type: "python_module", executor_config: { plugin: "nosy" } },
      init,
    );
    await submit("nosy", [{ pk: "a" }], init);
    await rig.worker({ secret: "worker-secret-1", api_token: "api-token-1" });
    const [run] = await runsOf("nosy", 1, init);
    expect(run.output_json).toMatchObject({
      own: 200,
      others: 404,
      tasks: 404,
      plain: 404,
      no_token: 404,
    });
    expect(run.output_json.values).not.toMatch(/worker-secret-1|api-token-1/);
  }, 180_000);
});
