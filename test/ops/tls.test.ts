import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asNobody, binaryRig } from "#test/support/rigs/binary.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { inEmptyDir, type Program } from "#test/support/rigs/program.ts";
import {
  newAuthority,
  type PemFiles,
  replacePem,
  shownSubject,
  type TestAuthority,
} from "#test/support/servers/certificates.ts";
import { lanePorts } from "#test/support/servers/ports.ts";

/** The compiled program where the hub itself speaks TLS, with an authority of its own. */

const flotilla = binaryRig();
let dir: string;
let authority: TestAuthority;
let first: PemFiles;
let second: PemFiles;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-tls-"));
  chmodSync(dir, 0o755);
  authority = await newAuthority(dir);
  first = await authority.sign("first");
  second = await authority.sign("second");
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const LISTEN = ["--host", "127.0.0.1", "--port", "0"];
const tlsFlags = ({ cert, key }: PemFiles) => ["--tls-cert", cert, "--tls-key", key];

async function secureUrl(program: Program): Promise<string> {
  const port = await until("the port", 60_000, () => /"port":(\d+)/.exec(program.stderr)?.[1]);
  return `https://127.0.0.1:${port}`;
}
const ca = () => Bun.file(authority.ca).text();
const ask = async (url: string, init: BunFetchRequestInit = {}) =>
  fetch(url, { ...init, tls: { ca: await ca() }, signal: AbortSignal.timeout(60_000) });

async function openSocket(url: string): Promise<WebSocket> {
  const options = { tls: { ca: await ca() } } as Bun.WebSocketOptions;
  const socket = new WebSocket(url.replace(/^http/, "ws"), options);
  await new Promise<void>((resolve, reject) => {
    socket.onopen = () => resolve();
    socket.onerror = (event) => reject(new Error((event as ErrorEvent).message));
  });
  return socket;
}

for (const mode of ["hub", "control"])
  test(`flotilla ${mode} answers over https only, to who trusts its authority`, () =>
    inEmptyDir(async (cwd) => {
      const program = flotilla.start([mode, ...LISTEN, ...tlsFlags(first)], { cwd });
      const url = await secureUrl(program);
      const answer = await ask(`${url}/api/v1/health`);
      expect([answer.status, answer.headers.get("strict-transport-security")]).toEqual([200, null]);
      await expect(fetch(`${url}/api/v1/health`)).rejects.toThrow(/verify/);
      await expect(fetch(`${url.replace("https", "http")}/api/v1/health`)).rejects.toThrow();
      expect(await flotilla.end(program, "SIGTERM")).toBe(0);
    }));

test("the login's cookie is Secure under https, and addresses that are told are https and wss", () =>
  inEmptyDir(async (cwd) => {
    const env = { SVC_API_TOKEN: "a-token" };
    const hub = flotilla.start(["hub", ...LISTEN, ...tlsFlags(first)], { cwd, env });
    const url = await secureUrl(hub);
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ token: "a-token" });
    const login = await ask(`${url}/ui/login`, { method: "POST", headers, body });
    expect(login.status).toBe(204);
    expect(login.headers.get("set-cookie")).toMatch(/; HttpOnly; Secure; SameSite=Strict/);
    const authorization = { authorization: "Bearer a-token" };
    const config = `${url}/profiles/extension/files/config.json`;
    const told = await ask(config, { headers: authorization });
    expect(await told.json()).toEqual({ hub: url });
    await flotilla.end(hub, "SIGTERM");
  }));

test("a certificate that is replaced is shown to new connections, and a WebSocket goes on", () =>
  inEmptyDir(async (cwd) => {
    const files = { cert: join(cwd, "hub.crt"), key: join(cwd, "hub.key") };
    replacePem(files, first);
    const hub = flotilla.start(["hub", ...LISTEN, ...tlsFlags(files)], { cwd });
    const url = await secureUrl(hub);
    expect(await shownSubject(url)).toBe("CN=first");
    const socket = await openSocket(`${url}/workers/w1/link`);
    let closed: number | null = null;
    socket.onclose = ({ code }) => {
      closed = code;
    };

    replacePem(files, second);
    await hub.says("TLS certificate replaced");
    expect(await shownSubject(url)).toBe("CN=second");
    expect((await ask(`${url}/health`)).status).toBe(200);

    expect(closed).toBeNull();
    const told = new Promise<number>((resolve) => {
      socket.onclose = ({ code }) => resolve(code);
    });
    socket.send("no registration");
    expect(await told).toBe(1008);
    expect(await flotilla.end(hub, "SIGTERM")).toBe(0);
  }));

test("files that do not belong together leave the certificate that is served", () =>
  inEmptyDir(async (cwd) => {
    const files = { cert: join(cwd, "hub.crt"), key: join(cwd, "hub.key") };
    replacePem(files, first);
    const hub = flotilla.start(["control", ...LISTEN, ...tlsFlags(files)], { cwd });
    const url = await secureUrl(hub);
    replacePem(files, { cert: first.cert, key: second.key });
    await hub.says("could not load the TLS certificate; the previous one stays in use");
    expect(hub.stderr).toContain("does not belong to the certificate");
    expect(await shownSubject(url)).toBe("CN=first");
    replacePem(files, second);
    await hub.says("TLS certificate replaced");
    expect(await shownSubject(url)).toBe("CN=second");
    expect(await flotilla.end(hub, "SIGTERM")).toBe(0);
  }));

test("an expired certificate is served with a warning", () =>
  inEmptyDir(async (cwd) => {
    const expired = await authority.sign("expired", { days: -1 });
    const hub = flotilla.start(["control", ...LISTEN, ...tlsFlags(expired)], { cwd });
    await hub.says("the TLS certificate has expired");
    const line = hub.stderr.split("\n").find((one) => one.includes("has expired")) ?? "";
    expect(JSON.parse(line)).toMatchObject({ level: "warn", subject: "CN=expired" });
    expect(await flotilla.end(hub, "SIGTERM")).toBe(0);
  }));

/** Asked for once the files are there. */
const REFUSED: Record<string, () => [PemFiles, RegExp]> = {
  missing: () => [{ ...first, cert: join(dir, "none") }, /--tls-cert: there is no file \/.*none$/m],
  "no certificate": () => [{ ...first, cert: first.key }, /--tls-cert: .* contains no certificate/],
  "no key": () => [{ ...first, key: first.cert }, /--tls-key: .* holds no private key/],
  mismatched: () => [{ ...first, key: second.key }, /--tls-key: the key in .* does not belong to/],
};
for (const [name, row] of Object.entries(REFUSED))
  test(`a certificate that is of no use is one plain sentence: ${name}`, () =>
    inEmptyDir(async (cwd) => {
      const [files, says] = row();
      const args = ["hub", ...LISTEN, ...tlsFlags(files)];
      const { code, stderr } = await flotilla.run(args, { cwd });
      expect(stderr).toMatch(says);
      expect(stderr.trim().split("\n")).toHaveLength(1);
      expect(code).toBe(2);
    }));

test.if(process.getuid?.() === 0)(
  "a key that the service's user may not read is told by name",
  () =>
    inEmptyDir(async (cwd) => {
      chownSync(cwd, 65_534, 65_534);
      chmodSync(first.key, 0o600);
      const args = ["hub", ...LISTEN, ...tlsFlags(first)];
      const program = flotilla.start(args, { cwd, env: { HOME: cwd }, prefix: asNobody() });
      expect(await flotilla.exitCode(program)).toBe(2);
      expect(program.stderr).toMatch(/--tls-key: user 65534 may not read .*first\.key: give/);
    }),
);

test("a certificate without its key is refused", () =>
  inEmptyDir(async (cwd) => {
    const { code, stderr } = await flotilla.run(["hub", "--tls-cert", first.cert], { cwd });
    expect([code, stderr]).toEqual([
      2,
      "flotilla: SVC_TLS_KEY: is required when SVC_TLS_CERT is set\n",
    ]);
  }));

test("a client that does not trust the hub's authority says what to set", () =>
  inEmptyDir(async (cwd) => {
    const hub = flotilla.start(["hub", ...LISTEN, ...tlsFlags(first)], { cwd });
    const url = await secureUrl(hub);
    const blind = await flotilla.run(["workers", "--hub", url], { cwd });
    expect([blind.code, blind.stderr]).toEqual([
      3,
      expect.stringMatching(
        /not signed by an authority that this machine trusts: set SVC_TLS_CA \(--tls-ca\)/,
      ),
    ]);
    const other = await newAuthority(cwd);
    const wrong = await flotilla.run(["workers", "--hub", url, "--tls-ca", other.ca], { cwd });
    expect(wrong.code).toBe(3);
    const seeing = await flotilla.run(["workers", "--hub", url, "--tls-ca", authority.ca], { cwd });
    expect({ code: seeing.code, err: seeing.stderr }).toEqual({ code: 0, err: "" });
    const plain = await flotilla.run(["workers", "--hub", url.replace("https", "http")], { cwd });
    expect(plain.stderr).toContain("does it speak https:// instead?");
    const none = await flotilla.run(["workers", "--tls-ca", join(cwd, "none")], { cwd });
    expect([none.code, none.stderr]).toEqual([2, expect.stringMatching(/--tls-ca: cannot read/)]);
    await flotilla.end(hub, "SIGTERM");
  }));

test(
  "a worker over wss runs a job and tasks, with an authority of its own and a certificate that changes",
  () =>
    inEmptyDir(async (cwd) => {
      const files = { cert: join(cwd, "hub.crt"), key: join(cwd, "hub.key") };
      replacePem(files, first);
      const env = { SVC_TLS_CA: authority.ca, WORKER_SECRET: "a secret", SVC_API_TOKEN: "token" };
      const hub = flotilla.start(["hub", ...LISTEN, ...tlsFlags(files)], { cwd, env });
      const url = await secureUrl(hub);
      const worker = flotilla.start(
        [
          ...["worker", "--hub-url", url.replace("https", "wss"), "--control-url", url],
          ...["--lanes", "1", "--slots", "1", "--headless-lanes", "--data-dir", join(cwd, "w")],
        ],
        { cwd, env: { ...env, ...lanePorts() } },
      );
      await worker.says("link registered");
      replacePem(files, second);
      await hub.says("TLS certificate replaced");
      const site = Bun.serve({
        hostname: "127.0.0.1",
        port: 0,
        fetch: () => new Response("<p>hello", { headers: { "content-type": "text/html" } }),
      });
      try {
        const client = { cwd, env: { ...env, SVC_HUB: url } };
        const job = await flotilla.run(
          [
            "fetch",
            site.url.href,
            "--json",
            "--option",
            "idle_seconds=0.2",
            "-o",
            join(cwd, "out"),
          ],
          client,
        );
        expect({ code: job.code, err: job.code === 0 ? "" : job.stderr }).toEqual({
          code: 0,
          err: "",
        });
        expect(JSON.parse(job.stdout).job.capture).toMatchObject({ lost: 0, ratio: 1 });
        const headers = { "content-type": "application/json", authorization: "Bearer token" };
        const made = await ask(`${url}/api/v1/workloads`, {
          method: "POST",
          headers,
          body: JSON.stringify({
            slug: "words",
            executor_type: "command",
            executor_config: { argv: ["wc", "-c"] },
          }),
        });
        expect(made.status).toBe(201);
        writeFileSync(join(cwd, "tasks"), "a\nb\n");
        const tasks = await flotilla.run(
          ["submit", "words", "--file", join(cwd, "tasks"), "--wait"],
          client,
        );
        expect({ code: tasks.code, err: tasks.code === 0 ? "" : tasks.stderr }).toEqual({
          code: 0,
          err: "",
        });
      } finally {
        await site.stop(true);
      }
      expect(worker.stderr).not.toContain("link lost");
      expect(await flotilla.end(worker, "SIGTERM")).toBe(0);
      expect(await flotilla.end(hub, "SIGTERM")).toBe(0);
    }),
  240_000,
);

test(
  "dev mode's own workers join its hub over TLS",
  () =>
    inEmptyDir(async (cwd) => {
      const args = ["dev", "--port", "0", "--headless-lanes", "--lanes=1", "--demo", "--once"];
      // The demo page is the hub's own, and Chromium knows nothing of the authority.
      const env = { ...lanePorts(), SVC_IGNORE_CERTIFICATE_ERRORS: "1" };
      const trusting = [...tlsFlags(first), "--tls-ca", authority.ca];
      const dev = flotilla.start([...args, ...trusting], { cwd, env });
      const code = await flotilla.exitCode(dev);
      expect({ code, log: code === 0 ? "" : dev.stderr }).toEqual({ code: 0, log: "" });
      expect(dev.stdout).toContain("https://127.0.0.1:");
    }),
  240_000,
);

test("dev mode refuses a certificate that its own workers could not accept", () =>
  inEmptyDir(async (cwd) => {
    const other = await authority.sign("other", { names: "DNS:hub.example" });
    const args = ["dev", "--port", "0", "--headless-lanes", ...tlsFlags(other)];
    const { code, stderr } = await flotilla.run(args, { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain("--tls-cert: dev mode's own workers reach the hub as 127.0.0.1");
  }));
