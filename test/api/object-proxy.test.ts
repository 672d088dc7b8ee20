import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rawRequest } from "#test/support/clients/raw-request.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
const bytes = (text: string) => new TextEncoder().encode(text);
beforeAll(async () => {
  hub = await startTestHub({ env: { SVC_MINIO_PREFIXES: "thumbnails, pages/shots/" } });
  for (const key of ["thumbnails/a.png", "thumbnails/b/c.html", "pages/shots/1", "pages/other"])
    await hub.ctx.objects.put(key, bytes(`body of ${key}`));
  await hub.ctx.objects.put("thumbnails-private/x", bytes("private"));
});
afterAll(() => hub.close());

const get = (key: string, headers: Record<string, string> = {}) =>
  hub.call("GET", `/api/v1/minio/${key}`, undefined, { headers });

describe("GET /minio/{key} (rules/pipeline-operations#object-proxy)", () => {
  test("streams an object under an allowed prefix with its type, ETag and Range", async () => {
    const answer = await get("thumbnails/a.png");
    expect([answer.status, answer.text]).toEqual([200, "body of thumbnails/a.png"]);
    expect(answer.headers.get("content-type")).toBe("image/png");
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    const etag = answer.headers.get("etag") ?? "";
    expect((await get("thumbnails/a.png", { "if-none-match": etag })).status).toBe(304);
    const part = await get("thumbnails/a.png", { range: "bytes=0-3" });
    expect([part.status, part.text]).toEqual([206, "body"]);
    expect((await get("thumbnails/a.png", { range: "bytes=900-" })).status).toBe(416);
    expect((await get("pages/shots/1")).text).toBe("body of pages/shots/1");
    expect((await get("thumbnails%2Fb%2fc.html")).text).toBe("body of thumbnails/b/c.html");
  });

  test("the ETag is another one once the object was replaced", async () => {
    await hub.ctx.objects.put("thumbnails/new", bytes("one"));
    const etag = (await get("thumbnails/new")).headers.get("etag") ?? "";
    await hub.ctx.objects.put("thumbnails/new", bytes("two"));
    const answer = await get("thumbnails/new", { "if-none-match": etag });
    expect([answer.status, answer.text]).toEqual([200, "two"]);
  });

  test("a page is shown in a sandbox", async () => {
    const { headers } = await get("thumbnails/b/c.html");
    expect(headers.get("content-security-policy")).toBe("sandbox");
  });

  test("any other prefix, and what is not there, is 404", async () => {
    for (const key of ["pages/other", "thumbnails-private/x", "jobs/x", "pages/shots", "%2Fetc"])
      expect((await get(key)).body).toEqual({
        detail: "object under thumbnails/ or pages/shots/ not found",
      });
    for (const key of ["thumbnails/none", "thumbnails/b"])
      expect(await get(key)).toMatchObject({
        status: 404,
        body: { detail: "object not found" },
      });
  });

  test("traversal is 400, sent in any way", async () => {
    for (const key of [
      ...["..%2Fpages%2Fother", "thumbnails%2F..%2Fpages%2Fother", "thumbnails/..%5Cx"],
      ...["thumbnails%2F.%2Fa.png", "thumbnails/%00", "thumbnails%2F%2Fa.png", "a%FF"],
    ])
      expect({ key, status: (await get(key)).status }).toEqual({ key, status: 400 });
    const raw = await rawRequest(
      hub.url,
      "GET /api/v1/minio/thumbnails/../pages/other HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    );
    expect(raw).toContain(" 404 ");
  });

  test("thumbnails/ and public/ are given out when nothing is said", async () => {
    const plain = await startTestHub();
    for (const key of ["public/x", "thumbnails/x", "jobs/x"])
      await plain.ctx.objects.put(key, bytes(key));
    const statuses = await Promise.all(
      ["public/x", "thumbnails/x", "jobs/x"].map(
        async (key) => (await plain.call("GET", `/api/v1/minio/${key}`)).status,
      ),
    );
    expect(statuses).toEqual([200, 200, 404]);
    await plain.close();
  });
});
