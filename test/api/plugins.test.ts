import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdir, open, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { contentHash } from "#shared/archive/content-hash.ts";
import { PLUGIN_LIMITS } from "#shared/protocol/schema/plugin.ts";
import { rawRequest } from "#test/support/clients/raw-request.ts";
import { listTarGz } from "#test/support/clients/tar.ts";
import { sha256 } from "#test/support/fakes/fake-worker.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
let dir: string;
beforeAll(async () => {
  hub = await startTestHub();
  dir = join(hub.data_dir, "plugins");
});
afterAll(() => hub.close());

const api = (method: string, path: string, init?: RequestInit) =>
  hub.call(method, `/api/v1/plugins${path}`, undefined, init);

async function write(files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), text);
  }
}
const manifest = (slug: string, more: Record<string, unknown> = {}) =>
  JSON.stringify({ slug, name: slug, version: "1.0.0", ...more });

let made = 0;
/** A plugin with these files beside its manifest. */
async function addPlugin(
  files: Record<string, string> = {},
  more: Record<string, unknown> = {},
): Promise<string> {
  const slug = `plugin-${++made}`;
  await write({ [`${slug}/plugin.json`]: manifest(slug, more) });
  for (const [path, text] of Object.entries(files)) await write({ [`${slug}/${path}`]: text });
  return slug;
}
const listed = async (slug: string) =>
  (await api("GET", "/available")).body.plugins.find((p: { slug: string }) => p.slug === slug);

describe("GET /plugins/available (rules/pipeline-plugins#list-plugins)", () => {
  test("without a plugins folder has what comes with the program, and does not make one (rules/pipeline-plugins#bundled-plugins)", async () => {
    const fresh = await startTestHub();
    const { status, body } = await fresh.call("GET", "/api/v1/plugins/available");
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { plugins: [{ slug: "crawl", errors: [] }], next_cursor: null },
    });
    expect(await Bun.file(join(fresh.data_dir, "plugins")).exists()).toBe(false);
    await fresh.close();
  });

  test("a folder counts in the place of a bundled plugin of its name (rules/pipeline-plugins#bundled-plugins)", async () => {
    const fresh = await startTestHub();
    const own = join(fresh.data_dir, "plugins/crawl");
    await mkdir(own, { recursive: true });
    await writeFile(join(own, "plugin.json"), '{"slug":"crawl","name":"Mine","version":"2"}');
    const { body } = await fresh.call("GET", "/api/v1/plugins/available");
    expect(body.plugins).toMatchObject([{ path: own, manifest: { name: "Mine" } }]);
    await fresh.close();
  });

  test("lists plugins with their manifests, by slug, as they are now", async () => {
    const executor = { type: "python_module", module: "main", init_schema: { type: "object" } };
    const slug = await addPlugin({ "main.py": "def run(pk): return pk" }, { executor });
    expect(await listed(slug)).toEqual({
      slug,
      path: join(dir, slug),
      manifest: { slug, name: slug, version: "1.0.0", description: "", executor },
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      errors: [],
    });
    await write({ [`${slug}/plugin.json`]: manifest(slug, { version: "2.0.0" }) });
    expect(await listed(slug)).toMatchObject({ manifest: { version: "2.0.0" } });
    await rm(join(dir, slug), { recursive: true });
    expect(await listed(slug)).toBeUndefined();
  });

  for (const [what, files, error] of [
    ["no manifest", { "a.txt": "x" }, "plugin.json is missing"],
    ["a manifest that is no JSON", { "plugin.json": "{" }, "plugin.json is not valid JSON"],
    ["a manifest without name", { "plugin.json": '{"slug":"x","version":"1"}' }, "name"],
    ["the slug of another folder", { "plugin.json": manifest("other") }, "slug: is other"],
    [
      "a command without argv",
      { "plugin.json": manifest("@", { executor: { type: "command" } }) },
      "argv",
    ],
    [
      "a schema that is none",
      {
        "plugin.json": manifest("@", {
          executor: { type: "bun_module", init_schema: { type: 7 } },
        }),
      },
      "executor.init_schema",
    ],
    ["a web folder that leads away", { "plugin.json": manifest("@", { web: "../x" }) }, "web"],
    ["a web folder that is not there", { "plugin.json": manifest("@", { web: "ui" }) }, "web"],
    ["a manifest of 1 MB", { "plugin.json": `"${"x".repeat(1_000_000)}"` }, "larger than"],
  ] as const)
    test(`lists a folder with ${what}, saying so, and gives out nothing of it`, async () => {
      const slug = `broken-${++made}`;
      for (const [path, text] of Object.entries(files))
        await write({ [`${slug}/${path}`]: text.replace('"@"', `"${slug}"`) });
      const plugin = await listed(slug);
      expect(plugin.errors.join()).toContain(error);
      expect(plugin.sha256).toBeNull();
      const { status, body } = await api("GET", `/${slug}/archive`);
      expect(status).toBe(409);
      expect(body.detail).toContain(`plugin ${slug} cannot be used`);
    });

  test("a folder of more than 128 MB is refused by its size, before it is read", async () => {
    const slug = await addPlugin();
    const handle = await open(join(dir, slug, "huge.bin"), "w");
    // Sparse: it takes no room on the disk.
    await handle.truncate(PLUGIN_LIMITS.max_bytes + 1);
    await handle.close();
    expect((await listed(slug)).errors).toEqual(["the folder holds more than 128 MiB"]);
  });

  test("a link or a hostile file name inside a plugin is an error of it; hidden files are passed over", async () => {
    const linked = await addPlugin({ ".git/config": "secret" });
    expect(await listed(linked)).toMatchObject({ errors: [] });
    await symlink("/etc", join(dir, linked, "etc"));
    const odd = await addPlugin({ "a\\b": "x" });
    expect(await listed(linked)).toMatchObject({ errors: ["etc is a symbolic link"] });
    expect((await listed(odd)).errors.join()).toContain("backslash");
  });
});

describe("the plugin that a workload names (rules/pipeline-workloads#names-must-exist)", () => {
  const command = (plugin: string, more: Record<string, unknown> = {}) => ({
    name: "n",
    executor_type: "command",
    executor_config: { plugin, argv: ["true"] },
    ...more,
  });
  const send = (method: string, path: string, body: unknown) =>
    hub.call(method, `/api/v1/workloads${path}`, body);

  test("is 422 when it is unknown, broken or of another executor, and nothing is stored", async () => {
    const broken = await addPlugin();
    await write({ [`${broken}/plugin.json`]: "{" });
    const python = await addPlugin({}, { executor: { type: "python_module" } });
    for (const [plugin, msg] of [
      ["not-there", "the control plane has no plugin not-there"],
      [broken, `plugin ${broken}: plugin.json is not valid JSON`],
      [python, `plugin ${python} is of type python_module, not command`],
    ] as const) {
      const { status, body } = await send("POST", "", { slug: "names", ...command(plugin) });
      expect([status, body.detail[0].loc]).toEqual([422, ["body", "executor_config", "plugin"]]);
      expect(body.detail[0].msg).toStartWith(msg);
      expect((await hub.call("GET", "/api/v1/workloads/names")).status).toBe(404);
    }
    const executor_config = { source_path: join(dir, "gone", "main"), module: "main" };
    const { body } = await send("POST", "", {
      slug: "names",
      executor_type: "python_module",
      executor_config,
    });
    expect(body.detail[0].loc).toEqual(["body", "executor_config", "source_path"]);
  });

  test("may stay although it is gone, while what is new must be there", async () => {
    const plugin = await addPlugin();
    expect((await send("POST", "", { slug: "stays", ...command(plugin) })).status).toBe(201);
    await rm(join(dir, plugin), { recursive: true });
    const { body: stored } = await hub.call("GET", "/api/v1/workloads/stays");
    const edited = await send("PUT", "/stays", { ...stored, priority: 4 });
    expect([edited.status, edited.body.priority]).toEqual([200, 4]);
    const other = { ...stored, executor_type: "python_module" };
    expect((await send("PUT", "/stays", other)).status).toBe(422);
    expect((await send("PUT", "/stays", command("not-there"))).status).toBe(422);
  });
});

test("init_kwargs are judged by the plugin's init_schema when a workload is written (rules/pipeline-workloads#names-must-exist)", async () => {
  const init_schema = {
    type: "object",
    properties: { top: { type: "integer", minimum: 1 }, words: { type: "array" } },
    required: ["words"],
    additionalProperties: false,
  };
  const plugin = await addPlugin({}, { executor: { type: "python_module", init_schema } });
  await listed(plugin);
  const send = (method: string, path: string, init_kwargs?: unknown) =>
    hub.call(method, `/api/v1/workloads${path}`, {
      slug: plugin,
      name: plugin,
      executor_type: "python_module",
      executor_config: { plugin, ...(init_kwargs === undefined ? {} : { init_kwargs }) },
    });
  for (const [bad, place] of [
    [undefined, "words"],
    [{ words: "x" }, "words"],
    [{ words: [], top: 0 }, "top"],
  ] as const) {
    const { status, body } = await send("POST", "", bad);
    expect(status).toBe(422);
    expect(body.detail[0].loc).toEqual(["body", "executor_config", "init_kwargs", place]);
  }
  expect((await send("POST", "", { words: [], other: 1 })).status).toBe(422);
  expect((await send("POST", "", { words: [] })).status).toBe(201);
  expect((await send("PUT", `/${plugin}`, { words: 1 })).status).toBe(422);
  expect((await send("PUT", `/${plugin}`, { words: ["a"], top: 2 })).status).toBe(200);
});

describe("GET /plugins/{slug}/archive", () => {
  const download = async (slug: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${hub.url}/api/v1/plugins/${slug}/archive`, { headers });
    return { answer, body: new Uint8Array(await answer.arrayBuffer()) };
  };

  test("is a tar.gz of the folder, the same bytes every time, with the content hash as ETag", async () => {
    const files = { "main.py": "print(1)", "lib/a.py": "a = 1", "lib/empty": "" };
    const slug = await addPlugin(files);
    await write({ [`${slug}/__pycache__/main.pyc`]: "x", [`${slug}/.env`]: "SECRET=1" });
    const { answer, body } = await download(slug);
    expect(answer.headers.get("content-type")).toBe("application/gzip");
    const all = { ...files, "plugin.json": manifest(slug) };
    expect(await listTarGz(body)).toEqual(all);
    const hash = contentHash(
      Object.entries(all).map(([path, text]) => ({
        path,
        size: text.length,
        sha256: sha256(Buffer.from(text)),
      })),
    );
    expect(answer.headers.get("etag")).toBe(`"${hash}"`);
    expect((await listed(slug)).sha256).toBe(hash);
    expect(Buffer.compare((await download(slug)).body, body)).toBe(0);
  });

  test("304 for who has it; another hash as soon as a file changes, back again when it is undone", async () => {
    const slug = await addPlugin({ "main.py": "one" });
    const etag = (await download(slug)).answer.headers.get("etag") ?? "";
    for (const held of [etag, `"other", W/${etag}`, "*"])
      expect((await download(slug, { "if-none-match": held })).answer.status, held).toBe(304);
    await write({ [`${slug}/main.py`]: "two" });
    const changed = await download(slug, { "if-none-match": etag });
    expect(changed.answer.status).toBe(200);
    expect(changed.answer.headers.get("etag")).not.toBe(etag);
    await write({ [`${slug}/main.py`]: "one" });
    expect((await download(slug)).answer.headers.get("etag")).toBe(etag);
  });

  test("404 for a plugin that is not there, whatever it is called", async () => {
    for (const slug of ["none", "..%2Fobjects", "%2e%2e%2f", "a%00b", "__proto__", "constructor"])
      expect((await api("GET", `/${slug}/archive`)).status).toBe(404);
  });
});

test("the control plane alone has plugins, state, blobs and objects as well (rules/pipeline-overview#modes-and-flags)", async () => {
  const alone = await startTestHub({ mode: "control" });
  const call = (method: string, path: string, body?: unknown) =>
    alone.call(method, `/api/v1${path}`, body);
  expect((await call("GET", "/plugins/available")).body).toMatchObject({
    plugins: [{ slug: "crawl" }],
    next_cursor: null,
  });
  expect((await call("PUT", "/plugins/p/state/k", { a: 1 })).status).toBe(200);
  expect((await call("PUT", "/plugins/p/blob/k", "text")).status).toBe(200);
  expect((await call("GET", "/plugins/p/blob/k")).text).toBe("text");
  expect((await call("GET", "/minio/thumbnails/none")).body.detail).toBe("object not found");
  await alone.close();
});

describe("GET /plugins/{slug}/web/{path} (rules/pipeline-plugins#web-pages-of-a-plugin)", () => {
  let slug: string;
  beforeAll(async () => {
    slug = await addPlugin(
      {
        "web/index.html": "<h1>Hello</h1>",
        "web/app.js": "const a = 1;",
        "web/sub/index.html": "sub",
        "web/ä.txt": "umlaut",
        "secret.txt": "secret",
      },
      { web: "web" },
    );
    await write({ [`${slug}/web/.hidden`]: "hidden", [`${slug}/web/.git/config`]: "hidden" });
    await writeFile(join(hub.data_dir, "outside.txt"), "outside");
  });
  const get = (path: string, headers: Record<string, string> = {}) =>
    api("GET", `/${slug}/web/${path}`, { headers });

  test("serves the files with their types and a sandbox; index.html stands for its folder", async () => {
    for (const [path, text, type] of [
      ["", "<h1>Hello</h1>", "text/html; charset=utf-8"],
      ["index.html", "<h1>Hello</h1>", "text/html; charset=utf-8"],
      ["app.js", "const a = 1;", "text/javascript; charset=utf-8"],
      ["sub/", "sub", "text/html; charset=utf-8"],
      ["%C3%A4.txt", "umlaut", "text/plain; charset=utf-8"],
    ] as const) {
      const answer = await get(path);
      expect({ status: answer.status, text: answer.text }).toEqual({ status: 200, text });
      expect(answer.headers.get("content-type")).toBe(type);
      expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
      const csp = answer.headers.get("content-security-policy") ?? "";
      expect(csp).toContain("sandbox allow-scripts");
      expect(csp).not.toContain("allow-same-origin");
      expect(csp).toContain("connect-src 'none'");
    }
    const { status, headers } = await api("GET", `/${slug}/web`);
    expect([status, headers.get("location")]).toEqual([308, `/api/v1/plugins/${slug}/web/`]);
  });

  test("answers ETag, 304 and Range, and the new file once it changed", async () => {
    const etag = (await get("app.js")).headers.get("etag") ?? "";
    expect(etag).toBe(`"${sha256(Buffer.from("const a = 1;"))}"`);
    expect((await get("app.js", { "if-none-match": etag })).status).toBe(304);
    expect((await get("app.js", { range: "bytes=0-4" })).text).toBe("const");
    await write({ [`${slug}/web/app.js`]: "changed();" });
    const changed = await get("app.js", { "if-none-match": etag });
    expect([changed.status, changed.text]).toEqual([200, "changed();"]);
  });

  test("nothing outside, nothing hidden, nothing beyond a link", async () => {
    for (const path of [
      ...["..%2Fsecret.txt", "%2e%2e%2Fsecret.txt", "sub%2F..%2F..%2Fsecret.txt"],
      ...["..%5Csecret.txt", "a%5Cb", "x%00y", "..%2F..%2F..%2Foutside.txt"],
    ])
      expect({ path, status: (await get(path)).status }).toEqual({ path, status: 400 });
    for (const path of [
      ...[".hidden", ".git/config", "none.html", "sub", "%2Fetc%2Fpasswd", "/etc/passwd"],
      ...["../plugin.json", "__proto__", "constructor", "..%252Fsecret.txt"],
    ])
      expect({ path, status: (await get(path)).status }).toEqual({ path, status: 404 });
    expect((await get("a%FF")).status).toBe(400);
    const raw = await rawRequest(
      hub.url,
      `GET /api/v1/plugins/${slug}/web/../secret.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    );
    expect(raw).toContain(" 404 ");
    await symlink(join(hub.data_dir, "outside.txt"), join(dir, slug, "web/link.txt"));
    const linked = await get("link.txt");
    expect(linked.status).toBe(409);
    expect(linked.body.detail).toContain("web/link.txt is a symbolic link");
    await rm(join(dir, slug, "web/link.txt"));
    expect((await get("index.html")).status).toBe(200);
  });

  test("404 for a plugin without a web folder, and for no plugin", async () => {
    const plain = await addPlugin({ "web/index.html": "x" });
    expect((await api("GET", `/${plain}/web/index.html`)).body.detail).toContain("web folder");
    expect((await api("GET", "/none/web/index.html")).body.detail).toBe("plugin not found");
  });
});
