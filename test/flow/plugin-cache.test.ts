import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { contentHash } from "#shared/archive/content-hash.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import type { WorkloadSettings } from "#shared/protocol/schema/pull.ts";
import { makeTarGz, type TarEntry, tarHeader } from "#test/support/clients/tar.ts";
import { sha256 } from "#test/support/fakes/fake-worker.ts";
import { freePort } from "#test/support/servers/ports.ts";
import { openPluginCache } from "#worker/tasks/plugin-cache.ts";
import { startPluginStore } from "#worker/tasks/plugin-store.ts";
import { createWorkerPlugins } from "#worker/tasks/plugins.ts";

let root: string;
let dir: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "flotilla-plugin-cache-"));
  dir = join(root, "plugins");
});
afterEach(() => rm(root, { recursive: true, force: true }));

const versionOf = (files: [string, string][], slug = "p") => ({
  slug,
  sha256: contentHash(
    files.map(([path, text]) => ({
      path,
      size: text.length,
      sha256: sha256(Buffer.from(text)),
    })),
  ),
});
const streamed = (bytes: Uint8Array) => new Blob([new Uint8Array(bytes)]).stream();

/** A cache over these archives, one per fetch, the last one again and again. */
async function cacheOf(...archives: (TarEntry[] | Uint8Array)[]) {
  let fetches = 0;
  const cache = await openPluginCache({
    dir,
    log: silentLog,
    withArchive: async (_slug, take) => {
      const archive = archives[Math.min(fetches, archives.length - 1)] ?? [];
      fetches += 1;
      return take(streamed(archive instanceof Uint8Array ? archive : await makeTarGz(archive)));
    },
  });
  return { ...cache, fetches: () => fetches };
}
const FILES: [string, string][] = [
  ["plugin.json", "{}"],
  ["lib/a.py", "a = 1"],
];
const folders = () => readdir(dir);

describe("plugins on a worker (rules/pipeline-plugins#plugin-archive)", () => {
  test("one fetch serves all slots that ask at once, and everybody after them, also after a restart", async () => {
    const cache = await cacheOf(FILES);
    const held = await Promise.all(
      Array.from({ length: 8 }, () => cache.acquire(versionOf(FILES))),
    );
    expect(cache.fetches()).toBe(1);
    expect(new Set(held.map(({ path }) => path)).size).toBe(1);
    expect(await readFile(join(held[0]?.path ?? "", "lib/a.py"), "utf8")).toBe("a = 1");
    for (const { release } of held) await release();
    const restarted = await cacheOf();
    await restarted.acquire(versionOf(FILES));
    expect(restarted.fetches()).toBe(0);
  });

  test("what an earlier process left half done is removed, whole versions stay", async () => {
    const { path } = await (await cacheOf(FILES)).acquire(versionOf(FILES));
    await mkdir(join(dir, "left.part"));
    await writeFile(join(dir, "left.part", "x"), "x");
    await cacheOf();
    expect((await folders()).map((name) => join(dir, name))).toEqual([path]);
  });

  test("an archive that is another version, damaged, cut off or hostile leaves nothing, and the next try works", async () => {
    const whole = await makeTarGz(FILES);
    for (const bad of [
      [["plugin.json", "{ }"]] as TarEntry[],
      [...FILES, ["more", "x"]] as TarEntry[],
      whole.subarray(0, whole.length - 20),
      Buffer.from("no archive at all"),
      [...FILES, ["../escape", "x"]] as TarEntry[],
      [...FILES, ["/abs", "x"]] as TarEntry[],
      [...FILES, { name: "link", type: "symlink", linkname: "/etc" }] as TarEntry[],
      tarHeader("huge", 200 * 1024 * 1024),
    ]) {
      const cache = await cacheOf(bad, FILES);
      await expect(cache.acquire(versionOf(FILES))).rejects.toThrow();
      expect(await folders()).toEqual([]);
      expect(await readdir(root)).toEqual(["plugins"]);
      const { release } = await cache.acquire(versionOf(FILES));
      await release();
      await rm(dir, { recursive: true });
    }
  });

  test("a version in use is never pruned; of the others the two used last stay", async () => {
    const texts = ["1", "2", "3", "4", "5"];
    const files = (text: string): [string, string][] => [["main.py", text]];
    const cache = await cacheOf(...texts.map(files));
    const held = [];
    for (const text of texts) held.push(await cache.acquire(versionOf(files(text))));
    expect(await folders()).toHaveLength(5);
    for (const { release } of held.slice(1)) await release();
    expect(await folders()).toHaveLength(3);
    expect(await folders()).toContain(held[0]?.path.split("/").at(-1) ?? "");
    await held[0]?.release();
    await held[0]?.release();
    expect(await folders()).toHaveLength(2);
  });

  test("slots that come and go at the same time neither lose a folder nor keep one too many", async () => {
    const files = (text: string): [string, string][] => [
      ["main.py", text],
      ...Array.from({ length: 10 }, (_, i): [string, string] => [`lib/${i}.py`, text]),
    ];
    let wanted = "";
    const cache = await openPluginCache({
      dir,
      log: silentLog,
      withArchive: async (_slug, take) => take(streamed(await makeTarGz(files(wanted)))),
    });
    for (let round = 0; round < 10; round += 1) {
      const held = [];
      for (const text of ["1", "2", "3", "4"]) {
        wanted = text;
        held.push(await cache.acquire(versionOf(files(text))));
      }
      wanted = "4";
      const again = held.map(async ({ release }) => {
        await release();
        const { path, release: leave } = await cache.acquire(versionOf(files("4")));
        expect(await readFile(join(path, "lib/9.py"), "utf8")).toBe("4");
        await leave();
      });
      await Promise.all(again);
      expect(await folders()).toHaveLength(2);
    }
  });
});

describe("where a workload's code is (rules/pipeline-executors#where-the-code-is)", () => {
  const settings = (source_path: string): WorkloadSettings => ({
    slug: "w",
    revision: "1",
    executor_type: "python_module",
    batch_size: 1,
    executor_config: { source_path, module: "m" },
    lease_ms: 1_000,
    timeout_ms: null,
    plugin: { ...versionOf(FILES), path: "lib", error: null },
  });
  const made = async (source_path: string) => {
    const archive = await makeTarGz(FILES);
    const server = Bun.serve({ port: 0, fetch: () => new Response(new Uint8Array(archive)) });
    const plugins = createWorkerPlugins({
      control_url: `http://localhost:${server.port}/`,
      secret: null,
      api_token: null,
      dir: root,
      clock: systemClock,
      log: silentLog,
      signal: new AbortController().signal,
    });
    let seen: [string | undefined, string[]] = [undefined, []];
    const executor = await plugins.createExecutor(settings(source_path), async (given, env) => {
      seen = [given.executor_config.source_path, Object.keys(env).sort()];
      return { run: async () => {}, load: async () => {}, close: async () => {} };
    });
    await executor.close();
    await plugins.close();
    await server.stop(true);
    return seen;
  };

  test("a source_path that this worker has is used as it is", async () => {
    expect(await made(tmpdir())).toEqual([tmpdir(), ["FLOTILLA_STORE_URL"]]);
  });

  test("one it has not is fetched as the plugin it names, with the place inside it", async () => {
    const [path, env] = await made("/srv/control/plugins/p/lib");
    expect(path).toBe(join(dir, `p@${versionOf(FILES).sha256}`, "lib"));
    expect(env).toEqual(["FLOTILLA_PLUGIN_DIR", "FLOTILLA_STORE_URL"]);
  });
});

describe("the way of tasks to their plugin's state and blobs", () => {
  test("a control plane that restarts is waited for; a call it may have taken is not made again", async () => {
    const calls: string[] = [];
    const answers = [503, 200];
    const port = freePort();
    const control = () =>
      Bun.serve({
        port,
        hostname: "127.0.0.1",
        fetch: async (request) => {
          calls.push(`${request.method} ${new URL(request.url).pathname} ${await request.text()}`);
          return Response.json({ ok: true }, { status: answers.shift() ?? 500 });
        },
      });
    const gone = new AbortController();
    let server: ReturnType<typeof control> | null = null;
    const store = startPluginStore({
      control_url: `http://127.0.0.1:${port}/`,
      headers: {},
      signal: gone.signal,
      clock: {
        ...systemClock,
        // It comes up while it is waited for.
        sleep: async () => {
          server ??= control();
        },
      },
    });
    const put = () => fetch(`${store.urlFor("p")}/state/a%2Fb`, { method: "PUT", body: "1" });
    expect((await put()).status).toBe(200);
    expect(calls).toEqual(Array(2).fill("PUT /api/v1/plugins/p/state/a%2Fb 1"));
    expect((await put()).status).toBe(500);
    expect(calls).toHaveLength(3);
    await (server as ReturnType<typeof control> | null)?.stop(true);
    gone.abort();
    expect((await put()).status).toBe(502);
    await store.stop();
  });
});
