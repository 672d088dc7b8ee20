import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { contentHash } from "#shared/archive/content-hash.ts";
import { readTar } from "#shared/archive/read-tar.ts";
import { chunksOf } from "#shared/archive/streams.ts";
import { PYTHON_EXAMPLE } from "#shared/protocol/code-examples.ts";
import { MAX_CODE_BYTES, MAX_VERSIONS } from "#shared/protocol/schema/workload-code.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(() => hub.close());

const api = (method: string, path: string, body?: unknown, init?: RequestInit) =>
  hub.call(method, `/api/v1${path}`, body, init);
const sha = (text: string) => createHash("sha256").update(text).digest("hex");
const py = (code: string) => ({ executor_type: "python_module", executor_config: { code } });

let made = 0;
async function create(code = PYTHON_EXAMPLE, more = {}): Promise<string> {
  const slug = `code-${++made}`;
  expect((await api("POST", "/workloads", { slug, ...py(code), ...more })).status).toBe(201);
  return slug;
}
const save = (slug: string, code: string, more = {}) =>
  api("PUT", `/workloads/${slug}`, { name: slug, ...py(code), ...more });
const versionsOf = async (slug: string) => (await api("GET", `/workloads/${slug}/versions`)).body;

describe("code in a workload (rules/pipeline-code#code-in-a-workload)", () => {
  test("is in its first version, which the record names, and is given by that version", async () => {
    const slug = await create(PYTHON_EXAMPLE, { version_note: "first try" });
    const { body } = await api("GET", `/workloads/${slug}`);
    expect(body.executor_config).toEqual({ code_version: 1 });
    expect(await versionsOf(slug)).toEqual({
      versions: [
        {
          version: 1,
          executor_type: "python_module",
          sha256: sha(PYTHON_EXAMPLE),
          bytes: PYTHON_EXAMPLE.length,
          note: "first try",
          created_by: "open",
          created_at: expect.stringMatching(/Z$/),
          restored_from: null,
          current: true,
        },
      ],
      next_cursor: null,
    });
    const one = (await api("GET", `/workloads/${slug}/versions/1`)).body;
    expect(one).toMatchObject({ version: 1, code: PYTHON_EXAMPLE });
    expect((await api("GET", `/workloads/${slug}/versions/2`)).status).toBe(404);
    expect((await api("GET", "/workloads/none/versions")).status).toBe(404);
  });

  test("reaches workers as a plugin of one file, by its hash", async () => {
    const slug = await create();
    const { workload_id, code_sha256 } = await hub.ctx.pipeline.workloads.require(slug);
    const answer = await fetch(`${hub.url}/api/v1/plugins/code-of-${workload_id}/archive`);
    expect(answer.headers.get("etag")).toBe(`"${code_sha256}"`);
    const files = [];
    const limits = { max_entries: 9, max_unpacked_bytes: 1e6 };
    for await (const { path, body } of readTar(chunksOf(answer.body as never), limits)) {
      const parts: Uint8Array[] = [];
      for await (const part of body) parts.push(part);
      const text = Buffer.concat(parts).toString();
      expect(text).toBe(PYTHON_EXAMPLE);
      files.push({ path: path.join("/"), size: text.length, sha256: sha(text) });
    }
    expect(files.map(({ path }) => path)).toEqual(["main.py"]);
    expect(contentHash(files)).toBe(`${code_sha256}`);
    expect((await api("GET", "/plugins/code-of-99999/archive")).status).toBe(404);
    expect((await api("GET", "/plugins/code-draft-0000/archive")).status).toBe(404);
  });

  test("is refused beside other code, for other executors, and when it is too long, blank or no text", async () => {
    const refused = async (body: object, path: string) => {
      const { status, body: answer } = await api("POST", "/workloads", { slug: "no", ...body });
      expect([status, answer.detail[0].loc.join(".")]).toEqual([422, `body.${path}`]);
    };
    const at = "executor_config.code";
    await refused({ executor_type: "command", executor_config: { argv: ["a"], code: "x" } }, at);
    for (const key of ["plugin", "module", "source_path"])
      await refused(
        { executor_type: "python_module", executor_config: { code: "x", [key]: "a" } },
        `executor_config.${key}`,
      );
    await refused(py("é".repeat(MAX_CODE_BYTES / 2 + 1)), at);
    for (const text of ["", " \n", "a\u0000b", "a\ud800"]) await refused(py(text), at);
    const none = { executor_type: "python_module", executor_config: {} };
    await refused(none, "executor_config.module");
    await refused(
      { executor_type: "python_module", executor_config: { code_version: 4 } },
      "executor_config.code_version",
    );
    expect((await api("GET", "/workloads/no")).status).toBe(404);
  });
});

describe("versions (rules/pipeline-code#versions)", () => {
  test("are made by other code alone, and kept by a record that is written back as it was read", async () => {
    const slug = await create("a = 1");
    const { body: read } = await api("GET", `/workloads/${slug}`);
    expect((await api("PUT", `/workloads/${slug}`, read)).body.executor_config).toEqual({
      code_version: 1,
    });
    await save(slug, "a = 1", { priority: 3 });
    expect((await versionsOf(slug)).versions).toHaveLength(1);
    const { body } = await save(slug, "a = 2", { version_note: "two" });
    expect(body.executor_config).toEqual({ code_version: 2 });
    // The record that was read names version 1: written back, that code runs again.
    const back = await api("PUT", `/workloads/${slug}`, read);
    expect(back.body.executor_config).toEqual({ code_version: 3 });
    const { versions } = await versionsOf(slug);
    expect(
      versions.map((v: { note: string; restored_from: number }) => [v.note, v.restored_from]),
    ).toEqual([
      ["", 1],
      ["two", null],
      ["", null],
    ]);
    expect(versions.map((v: { current: boolean }) => v.current)).toEqual([true, false, false]);
  });

  test("stay when the workload runs other code, and count on afterwards", async () => {
    const slug = await create("a = 1");
    const command = { executor_type: "command", executor_config: { argv: ["true"] } };
    const { body } = await api("PUT", `/workloads/${slug}`, { name: slug, ...command });
    expect(body.executor_config).toEqual({ argv: ["true"] });
    expect((await versionsOf(slug)).versions).toMatchObject([{ version: 1, current: false }]);
    await save(slug, "a = 1");
    expect((await versionsOf(slug)).versions).toMatchObject([{ version: 2 }, { version: 1 }]);
  });

  test("of two edits with the same If-Match one is made, and one version", async () => {
    const slug = await create("a = 1");
    const { headers } = await api("GET", `/workloads/${slug}`);
    const etag = headers.get("etag") ?? "";
    const answers = await Promise.all(
      ["b", "c", "d"].map((code) =>
        api(
          "PUT",
          `/workloads/${slug}`,
          { name: slug, ...py(code) },
          {
            headers: { "if-match": etag },
          },
        ),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412]);
    expect((await versionsOf(slug)).versions).toHaveLength(2);
    const all = await Promise.all(["e", "f", "g"].map((code) => save(slug, code)));
    expect(all.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await versionsOf(slug)).versions).toHaveLength(5);
  });

  test("the newest hundred are kept, and a list has pages", async () => {
    const slug = await create("a = 0");
    for (let i = 1; i <= MAX_VERSIONS; i += 1) await save(slug, `a = ${i}`);
    const first = (await api("GET", `/workloads/${slug}/versions?limit=60`)).body;
    expect(first.versions).toHaveLength(60);
    const cursor = first.next_cursor;
    const rest = (await api("GET", `/workloads/${slug}/versions?limit=60&cursor=${cursor}`)).body;
    expect(rest.versions).toHaveLength(40);
    expect(rest.versions.at(-1).version).toBe(2);
    expect(rest.next_cursor).toBeNull();
    expect((await api("GET", `/workloads/${slug}/versions/1`)).status).toBe(404);
  });

  test("go with their workload", async () => {
    const slug = await create();
    const { workload_id } = await hub.ctx.pipeline.workloads.require(slug);
    await api("DELETE", `/workloads/${slug}`);
    expect(await hub.ctx.db.workload_versions.get(workload_id, 1)).toBeNull();
  });
});

describe("roll back (rules/pipeline-code#roll-back)", () => {
  test("makes the old code the newest version, and leaves the other settings", async () => {
    const slug = await create("a = 1", { priority: 7 });
    await save(slug, "a = 2", { priority: 7 });
    const path = `/workloads/${slug}/versions/1/restore`;
    const { status, body } = await api("POST", path, { version_note: "it was slow" });
    expect(status).toBe(200);
    expect(body).toMatchObject({ priority: 7, executor_config: { code_version: 3 } });
    expect((await versionsOf(slug)).versions[0]).toMatchObject({
      version: 3,
      restored_from: 1,
      note: "it was slow",
      sha256: sha("a = 1"),
    });
    // What runs already is not changed.
    expect((await api("POST", path)).body).toEqual(body);
    expect((await api("POST", `/workloads/${slug}/versions/99/restore`)).status).toBe(404);
    const stale = { headers: { "if-match": '"1"' } };
    expect((await api("POST", path, {}, stale)).status).toBe(412);
  });
});

describe("a check of a draft (rules/pipeline-code#check-before-saving)", () => {
  test("says plainly that no worker is on", async () => {
    const { status, body } = await api("POST", "/workloads/check", py("a = 1"));
    expect([status, body.detail]).toEqual([
      409,
      "no pull worker is on: start one, and its code can be tried",
    ]);
  });

  test("names a version or a plugin that is not there", async () => {
    const draft = { executor_type: "python_module", executor_config: { code_version: 1 } };
    for (const more of [{}, { slug: "nobody" }])
      expect((await api("POST", "/workloads/check", { ...draft, ...more })).status).toBe(422);
    const plugin = { executor_type: "python_module", executor_config: { plugin: "none" } };
    expect((await api("POST", "/workloads/check", plugin)).status).toBe(422);
    const large = { ...py("a"), task: { extra: { a: "x".repeat(70_000) } } };
    expect((await api("POST", "/workloads/check", large)).status).toBe(422);
  });
});

test("code needs who is trusted with it, once there are tokens (rules/pipeline-code#who-may-write-code)", async () => {
  const guarded = await startTestHub({ env: { SVC_ADMIN_PASSWORD: "correct horse battery" } });
  try {
    const admin = { "x-admin-password": "correct horse battery" };
    const call = (method: string, path: string, body: unknown, headers: Record<string, string>) =>
      guarded.call(method, path, body, { headers });
    const token = async (role: string) =>
      (await call("POST", "/tokens", { name: role, role }, admin)).body.token;
    const [root, operator, viewer] = [
      await call("POST", "/tokens", { name: "root", role: "admin" }, admin).then(
        (a) => a.body.token,
      ),
      await token("operator"),
      await token("viewer"),
    ];
    const by = (role: string) => ({ authorization: `Bearer ${role}` });
    const body = { slug: "w", ...py("a = 1") };
    expect((await call("POST", "/api/v1/workloads", body, by(operator))).status).toBe(403);
    expect((await call("POST", "/api/v1/workloads/check", py("a"), by(operator))).status).toBe(403);
    expect((await call("POST", "/api/v1/workloads", body, by(root))).status).toBe(201);
    const versions = await call("GET", "/api/v1/workloads/w/versions", undefined, by(viewer));
    expect(versions.body.versions[0].created_by).toBe("root");
    const restore = "/api/v1/workloads/w/versions/1/restore";
    expect((await call("POST", restore, {}, by(operator))).status).toBe(403);
    expect((await call("POST", restore, {}, by(root))).status).toBe(200);
  } finally {
    await guarded.close();
  }
});
