import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import type { Recording } from "#shared/recording/record.ts";
import { Har } from "#test/support/clients/har.ts";
import { type FleetProcesses, startFleet, until } from "#test/support/rigs/fleet-process.ts";

/** The bodies of a session that was opened with `capture` (rules/recordings#bodies-of-a-session). */

const LONG_MS = 180_000;
const PICTURE = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
/** Larger than what is sent from memory. */
const LARGE = Buffer.alloc(3 * 1024 * 1024, "0123456789abcdef");
const PAGE = `<!doctype html><title>bodies</title><link rel=icon href=data:,><img src=/a.png><img src=/b.png>
<script>for (const path of ["/data.json", "/large", "/none"]) fetch(path).then((r) => r.text())</script>`;

let fleet: FleetProcesses;
let site: ReturnType<typeof Bun.serve>;

beforeAll(async () => {
  const answers: Record<string, () => Response> = {
    "/": () => new Response(PAGE, { headers: { "content-type": "text/html" } }),
    "/data.json": () => Response.json({ is: "captured" }),
    "/large": () => new Response(LARGE, { headers: { "content-type": "text/csv" } }),
    "/none": () => new Response(null, { status: 204 }),
    "/next": () => new Response("<!doctype html><title>next</title>the next page"),
  };
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) =>
      answers[new URL(url).pathname]?.() ??
      new Response(PICTURE, { headers: { "content-type": "image/png" } }),
  });
  fleet = await startFleet({ lanes: 1, env: { SVC_DRAIN_TIMEOUT_S: "1" } });
  await fleet.lanesWarm(LONG_MS);
}, LONG_MS);

afterAll(async () => {
  await fleet?.stop();
  await site?.stop(true);
}, LONG_MS);

const post = async <T>(path: string, body: unknown): Promise<T> =>
  (await (
    await fetch(fleet.url + path, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
    })
  ).json()) as T;
const entriesOf = async (path: string) =>
  Har.parse(await (await fetch(`${fleet.url}${path}/har.json`)).json()).log.entries;
const sha256 = (body: Uint8Array | string) => createHash("sha256").update(body).digest("hex");

test(
  "what a session's pages received is kept, is named by its HAR, and can be read after the session",
  async () => {
    const opened = await post<{ session_id: string; capture: boolean }>("/sessions", {
      url: site.url.href,
      capture: true,
      record: "events",
    });
    expect(opened.capture).toBe(true);
    const path = `/sessions/${opened.session_id}`;
    const bodyAt = (of: string) => fetch(`${fleet.url}${path}/bodies/${of}`);
    await until("the large body at the hub", LONG_MS, async () => (await bodyAt(sha256(LARGE))).ok);
    await post(`${path}/navigate`, { url: `${site.url}next` });
    await fetch(fleet.url + path, { method: "DELETE" });
    await until("the end of the recording", LONG_MS, async () => {
      const answer = await fetch(`${fleet.url}${path}/recording`);
      return ((await answer.json()) as Recording).state === "whole";
    });
    await fleet.lanesWarm(LONG_MS);
    const entries = await entriesOf(path);
    const contentOf = (of: string) =>
      entries.find(({ request }) => request.url === `${site.url}${of}`)?.response.content;
    expect(contentOf("")).toMatchObject({ _body: sha256(PAGE) });
    expect(contentOf("data.json")).toMatchObject({ _body: sha256('{"is":"captured"}') });
    expect(contentOf("a.png")).toMatchObject({ _body: sha256(PICTURE) });
    expect(contentOf("b.png")).toMatchObject({ _body: sha256(PICTURE) });
    expect(contentOf("none")).not.toHaveProperty("_body");
    expect(contentOf("none")).not.toHaveProperty("_body_missing");

    const picture = await bodyAt(sha256(PICTURE));
    expect(picture.headers.get("content-type")).toBe("image/png");
    expect(Buffer.from(await picture.arrayBuffer()).equals(PICTURE)).toBe(true);
    const large = Buffer.from(await (await bodyAt(sha256(LARGE))).arrayBuffer());
    expect(large.equals(LARGE)).toBe(true);
    const page = await bodyAt(sha256(PAGE));
    expect(page.headers.get("content-security-policy")).toBe("sandbox");
    expect((await bodyAt("0".repeat(64))).status).toBe(404);
    expect((await bodyAt("..%2F..%2Fx")).status).toBe(422);
  },
  LONG_MS,
);

test(
  "a session without capture keeps no body, and capture without a recording is refused",
  async () => {
    const { session_id } = await post<{ session_id: string }>("/sessions", { url: site.url.href });
    const path = `/sessions/${session_id}`;
    await until("its requests", LONG_MS, async () => (await entriesOf(path)).length > 3);
    for (const { response } of await entriesOf(path))
      expect(response.content).not.toHaveProperty("_body");
    expect((await fetch(`${fleet.url}${path}/bodies/${sha256(PICTURE)}`)).status).toBe(404);
    await fetch(fleet.url + path, { method: "DELETE" });
    const refused = await post<{ detail: unknown }>("/sessions", { capture: true, record: "off" });
    expect(JSON.stringify(refused.detail)).toContain("record must not be off");
  },
  LONG_MS,
);
