import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newAuthority } from "#test/support/servers/certificates.ts";
import { startHttpUpstream, type UpstreamProxy } from "#test/support/servers/upstream-proxies.ts";

/** A proxy that is spoken to in TLS: its login is for the one alone whose certificate says that it is the proxy. */

const BODY = "x".repeat(300_000);
let dir: string;
let ca: string;
let proxy: UpstreamProxy;
let site: Server;
let port = 0;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-tls-proxy-"));
  const authority = await newAuthority(dir);
  ca = authority.ca;
  const { key, cert } = await authority.sign("proxy", { names: "DNS:proxy.test" });
  proxy = await startHttpUpstream({
    names: { "far.test": "127.0.0.1" },
    login: { username: "anna", password: "secret" },
    tls: { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") },
  });
  site = createServer((socket) => {
    socket.on("error", () => {});
    socket.end(BODY);
  });
  await new Promise<void>((done) => site.listen(0, "127.0.0.1", done));
  const at = site.address();
  port = at && typeof at === "object" ? at.port : 0;
});
afterAll(() => {
  proxy.stop();
  site.close();
  rmSync(dir, { recursive: true, force: true });
});

async function through(server: string, trusts: boolean): Promise<string> {
  const script = join(import.meta.dir, "../support/rigs/through-gate.ts");
  const child = Bun.spawn([process.execPath, script, server, "far.test", String(port)], {
    env: { ...process.env, ...(trusts && { NODE_EXTRA_CA_CERTS: ca }) },
    stdout: "pipe",
  });
  return (await child.stdout.text()).trimEnd();
}

test("a tunnel through a proxy that speaks TLS carries everything, and the login", async () => {
  const said = await through(`https://anna:secret@proxy.test:${proxy.port}`, true);
  expect(said.slice(0, 200)).toBe(BODY.slice(0, 200));
  expect(said.length).toBe(BODY.length);
  expect(proxy.logins).toEqual(["anna:secret"]);
}, 180_000);

test("a proxy whose certificate is not trusted, or is another's, gets no login", async () => {
  proxy.logins.length = 0;
  expect(await through(`https://anna:secret@proxy.test:${proxy.port}`, false)).toMatch(
    /^proxy_certificate_invalid: the proxy https:\/\/proxy\.test:\d+: its certificate is not signed by an authority/,
  );
  expect(await through(`https://anna:secret@localhost:${proxy.port}`, true)).toMatch(
    /^proxy_certificate_invalid: .*its certificate does not name this address/,
  );
  expect(proxy.logins).toEqual([]);
}, 180_000);
