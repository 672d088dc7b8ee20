import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createBlobSweeper } from "#hub/pipeline/plugins/sweep.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { sha256 } from "#test/support/fakes/fake-worker.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { streamOf } from "#test/support/servers/objects.ts";

/** What a plugin keeps at the hub: state and blobs (rules/pipeline-plugins#state). */

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(() => hub.close());

const api = (method: string, path: string, init?: RequestInit) =>
  hub.call(method, `/api/v1/plugins${path}`, undefined, init);

describe("GET, PUT, DELETE /plugins/{slug}/state/{key} (rules/pipeline-plugins#state)", () => {
  const put = (path: string, body: string, headers: Record<string, string> = {}) =>
    api("PUT", path, { body, headers: { "content-type": "application/json", ...headers } });

  test("stores any JSON value, answers it with its key and time, replaces and deletes it", async () => {
    for (const value of [{ a: [1, null] }, [], "text", 0, false, null]) {
      const { status, body } = await put("/p/state/any", JSON.stringify(value));
      expect(status).toBe(200);
      expect(body).toEqual({
        key: "any",
        value,
        updated_at: expect.stringMatching(/^\d{4}-.*Z$/),
      });
      expect((await api("GET", "/p/state/any")).body).toEqual(body);
    }
    expect((await api("DELETE", "/p/state/any")).status).toBe(204);
    for (const method of ["GET", "DELETE"])
      expect(await api(method, "/p/state/any")).toMatchObject({
        status: 404,
        body: { detail: "state not found" },
      });
  });

  test("a key with slashes is the same key plain and percent-encoded", async () => {
    await put("/p/state/pages/2024%2Fa b", "1");
    for (const path of ["pages%2F2024%2Fa%20b", "pages/2024/a%20b", "pages/2024%2fa b"])
      expect((await api("GET", `/p/state/${path}`)).body).toMatchObject({
        key: "pages/2024/a b",
        value: 1,
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
      status: 413,
      detail: "a value is at most 1048576 bytes",
    });
    const streamed = new Blob([text(1024 * 1024 + 1)]).stream();
    const chunked = await fetch(`${hub.url}/api/v1/plugins/p/state/big`, {
      method: "PUT",
      body: streamed,
      headers: { "content-type": "application/json" },
    });
    expect(chunked.status).toBe(413);
    expect((await api("GET", "/p/state/big")).body.value).toHaveLength(1024 * 1024 - 2);
  });

  test("refuses what is not JSON, not UTF-8 or not a JSON type, and keys that break the rules", async () => {
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
      status: 405,
      allow: "DELETE, GET, HEAD, PUT",
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
      key: "page",
      size: bytes.length,
      mime: "text/html; charset=utf-8",
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
      status: 413,
      body: { detail: "a blob is at most 5242880 bytes" },
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
        body: "1",
        headers: { "content-type": "application/json" },
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

test("a blob that does not arrive within 120 s is 504, and what was there stays (rules/pipeline-plugins#blobs)", async () => {
  const clock = createFakeClock();
  const slow = await startTestHub({ clock, alone: true });
  try {
    const path = "/api/v1/plugins/p/blob/slow";
    expect((await slow.call("PUT", path, undefined, { body: "whole" })).status).toBe(200);
    const body = new ReadableStream({ start: (to) => to.enqueue(new Uint8Array(1_000)) });
    const answer = slow.call("PUT", path, undefined, { body });
    await clock.sleeperIn(120_000);
    await clock.advance(120_000);
    expect(await answer).toMatchObject({
      status: 504,
      body: { detail: "the blob did not arrive in time" },
    });
    expect((await slow.call("GET", path)).text).toBe("whole");
  } finally {
    await slow.close();
  }
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

describe("what a crawl keeps (rules/pipeline-crawl#what-a-crawl-keeps)", () => {
  const CRAWL = { executor_type: "bun_module", executor_config: { plugin: "crawl" } };
  const keep = (path: string) =>
    api("PUT", path, { body: "1", headers: { "content-type": "application/json" } });
  const isThere = async (path: string) => (await api("GET", path)).status === 200;
  const call = (method: string, path: string, body?: unknown) =>
    hub.call(method, `/api/v1/workloads${path}`, body);

  test("goes with its workload, and another crawl, another plugin and a workload of another plugin keep theirs", async () => {
    const command = { executor_type: "command", executor_config: { argv: ["true"] } };
    expect((await call("POST", "", { slug: "site", ...CRAWL })).status).toBe(201);
    expect((await call("POST", "", { slug: "shop", ...command })).status).toBe(201);
    const others = ["/crawl/state/site-2/begun", "/mine/state/site/begun", "/mine/state/shop/rows"];
    for (const path of ["/crawl/state/site/begun", ...others])
      expect((await keep(path)).status).toBe(200);
    for (const slug of ["site", "shop"])
      expect((await call("DELETE", `/${slug}`)).status).toBe(204);
    expect(await isThere("/crawl/state/site/begun")).toBe(false);
    for (const path of others) expect(await isThere(path)).toBe(true);
  });

  test("is nothing when it begins, also where a crawl of its name left something", async () => {
    await keep("/crawl/state/again/begun");
    expect((await call("POST", "", { slug: "again", ...CRAWL })).status).toBe(201);
    expect(await isThere("/crawl/state/again/begun")).toBe(false);
  });
});
