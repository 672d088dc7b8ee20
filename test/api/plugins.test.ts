import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdir, open, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createBlobSweeper } from "#hub/pipeline/plugins/sweep.ts";
import { contentHash } from "#shared/archive/content-hash.ts";
import { PLUGIN_LIMITS } from "#shared/protocol/schema/plugin.ts";
import { rawRequest } from "#test/support/clients/raw-request.ts";
import { listTarGz } from "#test/support/clients/tar.ts";
import { sha256 } from "#test/support/fakes/fake-worker.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { streamOf } from "#test/support/servers/objects.ts";

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
  test("is empty without a plugins folder, and does not make one", async () => {
    const fresh = await startTestHub();
    const { status, body } = await fresh.call("GET", "/api/v1/plugins/available");
    expect({ status, body }).toEqual({ status: 200, body: { plugins: [], next_cursor: null } });
    expect(await Bun.file(join(fresh.data_dir, "plugins")).exists()).toBe(false);
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
    expect((await listed(slug)).errors).toEqual(["the folder holds more than 128.0 MB"]);
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
    ...{ name: "n", executor_type: "command", executor_config: { plugin, argv: ["true"] } },
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
      [python, `plugin ${python} is a python_module, not a command`],
    ] as const) {
      const { status, body } = await send("POST", "", { slug: "names", ...command(plugin) });
      expect([status, body.detail[0].loc]).toEqual([422, ["body", "executor_config", "plugin"]]);
      expect(body.detail[0].msg).toStartWith(msg);
      expect((await hub.call("GET", "/api/v1/workloads/names")).status).toBe(404);
    }
    const executor_config = { source_path: join(dir, "gone", "main"), module: "main" };
    const { body } = await send("POST", "", {
      ...{ slug: "names", executor_type: "python_module", executor_config },
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
      ...{ slug: plugin, name: plugin, executor_type: "python_module" },
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
        ...{ path, size: text.length, sha256: sha256(Buffer.from(text)) },
      })),
    );
    expect(answer.headers.get("etag")).toBe(`"${hash}"`);
    expect((await listed(slug)).sha256).toBe(hash);
    expect(Buffer.compare((await download(slug)).body, body)).toBe(0);
  });

  test("304 for who has it; another hash as soon as a file changes, back again when it is undone", async () => {
    const slug = await addPlugin({ "main.py": "one" });
    const etag = (await download(slug)).answer.headers.get("etag") ?? "";
    expect((await download(slug, { "if-none-match": etag })).answer.status).toBe(304);
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

describe("GET, PUT, DELETE /plugins/{slug}/state/{key} (rules/pipeline-plugins#state)", () => {
  const put = (path: string, body: string, headers: Record<string, string> = {}) =>
    api("PUT", path, { body, headers: { "content-type": "application/json", ...headers } });

  test("stores any JSON value, answers it with its key and time, replaces and deletes it", async () => {
    for (const value of [{ a: [1, null] }, [], "text", 0, false, null]) {
      const { status, body } = await put("/p/state/any", JSON.stringify(value));
      expect(status).toBe(200);
      expect(body).toEqual({
        ...{ key: "any", value },
        updated_at: expect.stringMatching(/^\d{4}-.*Z$/),
      });
      expect((await api("GET", "/p/state/any")).body).toEqual(body);
    }
    expect((await api("DELETE", "/p/state/any")).status).toBe(204);
    for (const method of ["GET", "DELETE"])
      expect(await api(method, "/p/state/any")).toMatchObject({
        ...{ status: 404, body: { detail: "state not found" } },
      });
  });

  test("a key with slashes is the same key plain and percent-encoded", async () => {
    await put("/p/state/pages/2024%2Fa b", "1");
    for (const path of ["pages%2F2024%2Fa%20b", "pages/2024/a%20b", "pages/2024%2fa b"])
      expect((await api("GET", `/p/state/${path}`)).body).toMatchObject({
        ...{ key: "pages/2024/a b", value: 1 },
      });
    await put("/p/state/pages%2F2024%2F..%2F..%2Fx", "2");
    expect((await api("GET", "/p/state/pages%2F2024%2F..%2F..%2Fx")).body.value).toBe(2);
    expect((await api("GET", "/p/state/pages/2024/other")).status).toBe(404);
    expect((await api("DELETE", "/p/state/pages/2024/a%20b")).status).toBe(204);
  });

  test("plugins do not see each other's keys", async () => {
    await put("/one/state/k", "1");
    expect((await api("GET", "/two/state/k")).status).toBe(404);
  });

  test("1 MB of JSON is stored, one byte more is 413 and changes nothing (rules/pipeline-plugins#state)", async () => {
    const text = (bytes: number) => `"${"x".repeat(bytes - 2)}"`;
    expect((await put("/p/state/big", text(1024 * 1024))).status).toBe(200);
    const { status, body } = await put("/p/state/big", text(1024 * 1024 + 1));
    expect({ status, detail: body.detail }).toEqual({
      ...{ status: 413, detail: "a value is at most 1048576 bytes" },
    });
    const streamed = new Blob([text(1024 * 1024 + 1)]).stream();
    const chunked = await fetch(`${hub.url}/api/v1/plugins/p/state/big`, {
      ...{ method: "PUT", body: streamed, headers: { "content-type": "application/json" } },
    });
    expect(chunked.status).toBe(413);
    expect((await api("GET", "/p/state/big")).body.value).toHaveLength(1024 * 1024 - 2);
  });

  test("refuses what is no JSON, no UTF-8, no JSON type, and keys that break the rules", async () => {
    for (const body of ["", "{", "nope", "[1,]"])
      expect(await put("/p/state/bad", body)).toMatchObject({ status: 400 });
    const raw = new Uint8Array([0x22, 0xff, 0xfe, 0x22]) as never;
    expect((await put("/p/state/bad", raw)).status).toBe(400);
    const typed = await put("/p/state/bad", "1", { "content-type": "text/plain" });
    expect(typed.status).toBe(415);
    for (const path of ["/p/state/a%00b", `/p/state/${"k".repeat(501)}`, "/P!/state/k"])
      expect((await put(path, "1")).status).toBe(422);
    expect((await put("/p/state/a%FFb", "1")).body.detail).toBe("key is not percent-encoded UTF-8");
    expect((await api("GET", "/p/state/bad")).status).toBe(404);
    const { status, headers } = await api("POST", "/p/state/bad");
    expect({ status, allow: headers.get("allow") }).toEqual({
      ...{ status: 405, allow: "DELETE, GET, HEAD, PUT" },
    });
  });

  test("NUL and half characters are stored as U+FFFD and answered as they will be read", async () => {
    const { body } = await put("/p/state/odd", '{"a\\u0000":"\\ud800"}');
    expect(body.value).toEqual({ "a\ufffd": "\ufffd" });
    expect((await api("GET", "/p/state/odd")).body).toEqual(body);
  });

  test("If-Match stores only over that version, If-None-Match: * only when there is none: of 20 one wins", async () => {
    const race = async (headers: Record<string, string>) => {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) => put("/p/state/race", String(i), headers)),
      );
      const statuses = answers.map(({ status }) => status).sort();
      expect(statuses).toEqual([200, ...Array.from({ length: 19 }, () => 412)]);
    };
    await race({ "if-none-match": "*" });
    const etag = (await api("GET", "/p/state/race")).headers.get("etag") ?? "";
    await race({ "if-match": etag });
    for (const unknown of [etag, '"x"', "W/1", "1"])
      expect((await put("/p/state/race", "0", { "if-match": unknown })).status).toBe(412);
  });
});

describe("GET, PUT, DELETE /plugins/{slug}/blob/{key} (rules/pipeline-plugins#blobs)", () => {
  const put = (path: string, body: NonNullable<RequestInit["body"]>, type = "image/png") =>
    api("PUT", path, { body, headers: { "content-type": type } });
  const read = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${hub.url}/api/v1/plugins${path}`, { headers });
    return { answer, body: Buffer.from(await answer.arrayBuffer()) };
  };
  const objects = async () =>
    (await hub.ctx.objects.list("plugins")).filter((key) => key.startsWith("plugins/p-b/"));

  test("keeps bytes and type, with ETag, Range and 304, and shows them harmlessly", async () => {
    const bytes = Buffer.from("<script>alert(document.cookie)</script>");
    const { status, body } = await put("/b/blob/page", bytes, "text/html; charset=utf-8");
    expect(status).toBe(200);
    expect(body).toMatchObject({
      ...{ key: "page", size: bytes.length, mime: "text/html; charset=utf-8" },
      sha256: sha256(bytes),
    });
    const { answer, body: got } = await read("/b/blob/page");
    expect(got).toEqual(bytes);
    const header = (name: string) => answer.headers.get(name);
    expect(header("content-type")).toBe("text/html; charset=utf-8");
    expect(header("x-content-type-options")).toBe("nosniff");
    expect(header("content-security-policy")).toMatch(/^sandbox; default-src 'none'/);
    expect(header("etag")).toBe(`"${sha256(bytes)}"`);
    const again = await read("/b/blob/page", { "if-none-match": header("etag") ?? "" });
    expect(again.answer.status).toBe(304);
    const part = await read("/b/blob/page", { range: "bytes=1-6" });
    expect([part.answer.status, part.body.toString()]).toEqual([206, "script"]);
    expect((await read("/b/blob/page", { range: "bytes=999-" })).answer.status).toBe(416);
    const head = await fetch(`${hub.url}/api/v1/plugins/b/blob/page`, { method: "HEAD" });
    expect(head.headers.get("content-length")).toBe(String(bytes.length));
  });

  test("5 MB is stored; 5 MB and one byte is 413 and stores nothing, announced or not (rules/pipeline-plugins#blobs)", async () => {
    const most = new Uint8Array(5 * 1024 * 1024).fill(7);
    expect((await put("/b/blob/big", most)).body.size).toBe(most.length);
    const before = await objects();
    const over = new Uint8Array(most.length + 1);
    const announced = await put("/b/blob/big", over);
    expect({ status: announced.status, body: announced.body }).toEqual({
      ...{ status: 413, body: { detail: "a blob is at most 5242880 bytes" } },
    });
    const streamed = await put("/b/blob/big", new Blob([over]).stream());
    expect(streamed.status).toBe(413);
    expect(await objects()).toEqual(before);
    expect((await read("/b/blob/big")).body.length).toBe(most.length);
    expect((await put("/b/blob/new", over)).status).toBe(413);
    expect((await read("/b/blob/new")).answer.status).toBe(404);
  });

  test("a body that breaks off stores nothing and leaves the old blob", async () => {
    await put("/b/blob/cut", "whole");
    const before = await objects();
    const broken = streamOf(new Uint8Array(1_000), new Error("the sender left"));
    await expect(put("/b/blob/cut", broken)).rejects.toThrow();
    expect((await read("/b/blob/cut")).body.toString()).toBe("whole");
    expect(await objects()).toEqual(before);
  });

  test("replacing and deleting leaves no object behind; deleting what is not there is 404", async () => {
    const before = await objects();
    for (const text of ["one", "two", ""]) await put("/b/blob/a/b", text);
    expect(await objects()).toHaveLength(before.length + 1);
    expect((await read("/b/blob/a%2Fb")).body.length).toBe(0);
    expect((await api("DELETE", "/b/blob/a%2fb")).status).toBe(204);
    expect((await api("DELETE", "/b/blob/a/b")).status).toBe(404);
    expect(await objects()).toEqual(before);
  });

  test("bodies that a crash left without a blob go in the second sweep, those being stored stay", async () => {
    await put("/b/blob/kept", "kept");
    const before = await objects();
    const sweep = createBlobSweeper(hub.ctx);
    await hub.ctx.objects.put("plugins/p-b/left", new Uint8Array(1));
    await sweep();
    await hub.ctx.objects.put("plugins/p-b/coming", new Uint8Array(1));
    expect(await objects()).toHaveLength(before.length + 2);
    await sweep();
    expect(await objects()).toEqual([...before, "plugins/p-b/coming"].sort());
    await sweep();
    expect(await objects()).toEqual(before);
  });

  test("20 writers and 40 readers at once: every reader gets one of the bodies whole, one object stays", async () => {
    const body = (i: number) => Buffer.alloc(20_000, 65 + i);
    await put("/b/blob/busy", body(0));
    const before = await objects();
    const writers = Array.from({ length: 20 }, (_, i) => put("/b/blob/busy", body(i)));
    const readers = Array.from({ length: 40 }, async () => {
      const { answer, body: got } = await read("/b/blob/busy");
      expect(answer.status).toBe(200);
      expect(answer.headers.get("etag")).toBe(`"${sha256(got)}"`);
      expect(got.length).toBe(20_000);
    });
    await Promise.all([...writers, ...readers]);
    expect(await objects()).toHaveLength(before.length);
  });

  test("a type that cannot stand in a header, or none, is application/octet-stream", async () => {
    for (const type of ["x", "text/html\u00e4", `a/${"b".repeat(300)}`]) {
      await put("/b/blob/odd", "x", type);
      const { answer } = await read("/b/blob/odd");
      expect(answer.headers.get("content-type")).toBe("application/octet-stream");
    }
  });
});

test("the keys of state and blobs are listed in pages", async () => {
  for (const kind of ["state", "blob"]) {
    for (const key of ["x/1", "x/2", "x/3", "y"])
      await api("PUT", `/listed/${kind}/${key}`, {
        ...{ body: "1", headers: { "content-type": "application/json" } },
      });
    const name = kind === "state" ? "states" : "blobs";
    const first = (await api("GET", `/listed/${kind}?prefix=x/&limit=2`)).body;
    expect(first[name].map((item: { key: string }) => item.key)).toEqual(["x/1", "x/2"]);
    expect(first.next_cursor).toBe("x/2");
    const next = await api("GET", `/listed/${kind}?prefix=x/&limit=2&cursor=x/2`);
    expect(next.body).toMatchObject({ [name]: [{ key: "x/3" }], next_cursor: null });
    expect((await api("GET", `/none/${kind}`)).body).toEqual({ [name]: [], next_cursor: null });
    for (const limit of ["0", "-1", "abc", "100000"])
      expect((await api("GET", `/listed/${kind}?limit=${limit}`)).status).toBe(422);
  }
});

test("the control plane alone has plugins, state, blobs and objects as well (rules/pipeline-overview#modes-and-flags)", async () => {
  const alone = await startTestHub({ mode: "control" });
  const call = (method: string, path: string, body?: unknown) =>
    alone.call(method, `/api/v1${path}`, body);
  expect((await call("GET", "/plugins/available")).body).toEqual({
    plugins: [],
    next_cursor: null,
  });
  expect((await call("PUT", "/plugins/p/state/k", { a: 1 })).status).toBe(200);
  expect((await call("PUT", "/plugins/p/blob/k", "text")).status).toBe(200);
  expect((await call("GET", "/plugins/p/blob/k")).text).toBe("text");
  expect((await call("GET", "/minio/thumbnails/none")).body.detail).toBe("object not found");
  await alone.close();
});

test("an Idempotency-Key is kept: the same call is made once, another body under it is 409", async () => {
  const send = (kind: string, key: string, body: NonNullable<RequestInit["body"]>) =>
    api("PUT", `/keyed/${kind}/k`, {
      body,
      headers: { "content-type": "application/json", "idempotency-key": `${kind}-${key}` },
    });
  for (const kind of ["state", "blob"]) {
    const first = await send(kind, "one", "[1]");
    expect(first.status).toBe(200);
    await send(kind, "two", new Blob(["[2]"]).stream());
    expect((await send(kind, "one", "[1]")).body).toEqual(first.body);
    expect((await api("GET", `/keyed/${kind}/k`)).text).toContain("[2]");
    expect((await send(kind, "one", "[3]")).status).toBe(409);
  }
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
