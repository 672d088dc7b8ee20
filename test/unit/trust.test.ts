import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStream, placeOf } from "#hub/platform/http/byte-stream.ts";
import { createClient } from "#shared/client/index.ts";
import { tlsTrouble } from "#shared/protocol/tls-trouble.ts";
import { fetchHub, trustAuthority } from "#shared/protocol/trust.ts";
import { newAuthority, type PemFiles } from "#test/support/servers/certificates.ts";

/** Connections to a hub whose certificate an authority of one's own has signed. */

let dir: string;
let ca: string;
let hub: ReturnType<typeof serve>;
let misnamed: ReturnType<typeof serve>;

const serve = ({ cert, key }: PemFiles) =>
  Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    tls: { cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") },
    fetch: () => Response.json({ workloads: [], next_cursor: null }),
  });

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-trust-"));
  const authority = await newAuthority(dir);
  ca = authority.ca;
  hub = serve(await authority.sign("hub"));
  misnamed = serve(await authority.sign("misnamed", { names: "DNS:hub.example" }));
});
afterEach(() => trustAuthority(null));
afterAll(async () => {
  await Promise.all([hub.stop(true), misnamed.stop(true)]);
  rmSync(dir, { recursive: true, force: true });
});

const dial = async (port: number | undefined): Promise<string> => {
  let head = "";
  const stream = await openStream(placeOf(`https://127.0.0.1:${port}`), {
    hello: "GET / HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n\r\n",
    accept: (bytes) => {
      head = bytes.toString();
      return head.includes("\r\n\r\n") ? bytes : null;
    },
    within_ms: 10_000,
    failed: (why) => new Error(why),
  });
  stream.close();
  return head;
};

test("a hub whose authority is named is reached by calls, streams and the client library", async () => {
  trustAuthority(ca);
  expect((await fetchHub(`https://127.0.0.1:${hub.port}/`)).status).toBe(200);
  expect(await dial(hub.port)).toStartWith("HTTP/1.1 200");
  const client = createClient({
    base_url: `https://127.0.0.1:${hub.port}`,
    tls_ca: readFileSync(ca, "utf8"),
  });
  expect(await client.workloads.list()).toEqual([]);
});

test("without it, and by another name, nothing is sent to the other side, and the problem is reported", async () => {
  const untrusted = "its certificate is not signed by an authority that this machine trusts";
  await expect(dial(hub.port)).rejects.toThrow(untrusted);
  const err = await fetchHub(`https://127.0.0.1:${hub.port}/`).catch((e) => e);
  expect(tlsTrouble(err)).toStartWith(untrusted);
  trustAuthority(ca);
  const other = "its certificate does not name this address";
  await expect(dial(misnamed.port)).rejects.toThrow(other);
  const wrong = await fetchHub(`https://127.0.0.1:${misnamed.port}/`).catch((e) => e);
  expect(tlsTrouble(wrong)).toBe(other);
  expect(tlsTrouble(new Error("connection refused"))).toBeNull();
});

test("a place has the usual port of its scheme", () => {
  expect(placeOf("https://[::1]")).toEqual({ hostname: "::1", port: 443, secure: true });
  expect(placeOf("http://hub")).toEqual({ hostname: "hub", port: 80, secure: false });
});
