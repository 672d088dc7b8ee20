import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../rigs/fleet-process.ts";
import type { LanHost } from "./lan.ts";
import { freePort } from "./ports.ts";

/** The product's own router configuration (scripts/router/), run by the real program on a free port. */
export interface TestRouter {
  url: string;
  /** Of its files; names the process too. */
  dir: string;
  /** Which hubs there are from now on, `host:port` each; resolves when no new call reaches another. */
  setHubs(hubs: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

const TEMPLATES = join(import.meta.dir, "../../../scripts/router");
const LOOPBACK = "127.0.0.1";
const READY_MS = 60_000;
const PORT_TRIES = 5;

const hostOf = (hub: string): string => hub.replace(/^https?:\/\//, "").replace(/\/$/, "");

/** Replaces a word of the template that must be there. */
function fill(template: string, place: RegExp, by: string): string {
  if (!place.test(template)) throw new Error(`the template has no ${place}`);
  return template.replace(place, () => by);
}

/** The first server line of each upstream stands for those of all hubs. */
const withServers = (
  template: string,
  block: RegExp,
  hubs: readonly string[],
  place: RegExp,
  by: (hub: string) => string,
): string =>
  template.replace(block, (lines) => {
    const [first = ""] = lines.split("\n");
    return hubs.map((hub) => `${first.replace(place, by(hub))}\n`).join("");
  });

const NGINX_SERVERS = /( *server 10\.0\.0\.\d+:8000[^\n]*\n?)+/g;
const HAPROXY_SERVERS = /( *server hub\d+ 10\.0\.0\.\d+:8000[^\n]*\n?)+/g;

/** scripts/router/nginx.conf with these hubs, everything it writes below `dir`. */
function nginxConfig(
  dir: string,
  port: number,
  hubs: readonly string[],
  address = LOOPBACK,
  tls?: RouterTls,
): string {
  const template = readFileSync(join(TEMPLATES, "nginx.conf"), "utf8");
  const temps = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `    ${name}_temp_path ${join(dir, name)};\n`)
    .join("");
  const server = /10\.0\.0\.\d+:8000/;
  let text = withServers(template, NGINX_SERVERS, hubs, server, hostOf);
  text = fill(text, /^worker_processes auto;/m, "worker_processes 1;");
  text = fill(text, /^http \{\n/m, `http {\n${temps}`);
  text = fill(text, /listen 8000;/, `listen ${address}:${port};`);
  if (tls) text = nginxTls(text, tls);
  // As root nginx would become a user who cannot reach `dir`.
  const user = process.getuid?.() === 0 ? "user root;\n" : "";
  return `daemon off;\n${user}pid ${join(dir, "pid")};\nerror_log stderr warn;\n${text}`;
}

/** Hubs that speak TLS, as the comments of the configurations say it. */
export interface RouterTls {
  /** Path of the authority's certificate. */
  ca: string;
  /** That every hub's certificate has. */
  name: string;
}

const named = (text: string, { ca, name }: RouterTls): string =>
  text.replace(/\/etc\/\w+\/flotilla-ca\.crt/g, ca).replace(/flotilla\.lan/g, name);

const haproxyTls = (text: string, tls: RouterTls): string =>
  named(text.replace(/^( *)# (default-server ssl .*)$/gm, "$1$2"), tls);
const nginxTls = (text: string, tls: RouterTls): string =>
  named(text.replace(/^( *)# (proxy_ssl_.*)$/gm, "$1$2"), tls).replace(
    /proxy_pass http:/g,
    "proxy_pass https:",
  );

export interface HaproxyOptions {
  /** False: hubs are not asked for their health, for tests that look at every call. */
  checks?: boolean;
  tls?: RouterTls;
}

/** scripts/router/haproxy.cfg with these hubs, its command socket in `dir`. */
function haproxyConfig(
  dir: string,
  port: number,
  hubs: readonly string[],
  { checks = true, tls }: HaproxyOptions = {},
): string {
  const template = readFileSync(join(TEMPLATES, "haproxy.cfg"), "utf8");
  const named = /hub\d+ 10\.0\.0\.\d+:8000/;
  const line = (hub: string) => `${nameOf(hub)} ${hostOf(hub)}`;
  let text = withServers(template, HAPROXY_SERVERS, hubs, named, line);
  text = fill(text, /bind :8000/, `bind 127.0.0.1:${port}`);
  if (!checks)
    text = text.replaceAll(/default-server check inter 2s fall 2 rise 1/g, "default-server");
  if (tls) text = haproxyTls(text, tls);
  // Two descriptors each: what a test's machine may allow.
  text = fill(text, /maxconn \d+/, "maxconn 2000");
  return fill(text, /stats socket \S+/, `stats socket ${join(dir, "admin.sock")}`);
}

const nameOf = (hub: string): string => `hub${hostOf(hub).replace(/\W/g, "_")}`;

interface Running {
  pid: number;
  output(): string;
  ended(): boolean;
  stop(): Promise<void>;
}

function launch(command: string, args: string[], host?: LanHost): Running {
  const found = Bun.which(command) ?? Bun.which(command, { PATH: "/usr/sbin:/sbin" });
  if (!found) throw new Error(`${command} is not installed: apt-get install ${command}`);
  // Dies with this process, also when that is killed.
  const argv = ["--pdeathsig", "TERM", ...(host?.enter ?? []), found, ...args];
  const child = spawn("setpriv", argv, {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const keep = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-8_000);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const ended = () => child.exitCode !== null || child.signalCode !== null;
  return {
    pid: child.pid ?? 0,
    output: () => output,
    ended,
    stop: async () => {
      if (!ended()) child.kill("SIGTERM");
      await exited;
    },
  };
}

/** Starts on a free port; another one is tried when somebody took it meanwhile. */
async function startOn(
  name: string,
  start: (dir: string, port: number) => Running,
  address = LOOPBACK,
): Promise<{ dir: string; port: number; running: Running; stop(): Promise<void> }> {
  const dir = mkdtempSync(join(tmpdir(), `flotilla-${name}-`));
  chmodSync(dir, 0o755);
  const remove = () => rmSync(dir, { recursive: true, force: true });
  for (let tries = 1; ; tries += 1) {
    const port = freePort();
    const running = start(dir, port);
    try {
      await until(`${name} to listen`, READY_MS, () => {
        if (running.ended()) throw new Error(`${name} ended: ${running.output()}`);
        return accepts(port, address);
      });
      const stop = () => running.stop().finally(remove);
      return { dir, port, running, stop };
    } catch (err) {
      await running.stop();
      if (tries < PORT_TRIES && /in use/i.test(running.output())) continue;
      remove();
      throw err;
    }
  }
}

const accepts = (port: number, address: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, address);
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
  });

/** nginx: hubs come and go with a reload. `host`: where it runs and listens, instead of on this machine's loopback. */
export async function startNginx(
  hubs: readonly string[],
  host?: LanHost,
  tls?: RouterTls,
): Promise<TestRouter> {
  const address = host?.address ?? LOOPBACK;
  const file = (dir: string) => join(dir, "nginx.conf");
  const write = (dir: string, port: number, to: readonly string[]) =>
    writeFileSync(file(dir), nginxConfig(dir, port, to, address, tls));
  const start = (at: string, on: number) => {
    write(at, on, hubs);
    return launch("nginx", ["-p", at, "-c", file(at), "-e", "stderr"], host);
  };
  const { dir, port, running, stop } = await startOn("nginx", start, address);
  return {
    url: `http://${address}:${port}`,
    dir,
    setHubs: async (to) => {
      const before = workersOf(running.pid).map((w) => w.pid);
      write(dir, port, to);
      process.kill(running.pid, "SIGHUP");
      await until("nginx to take its new configuration", READY_MS, () => {
        const now = workersOf(running.pid).filter((w) => !w.leaving);
        return now.length > 0 && now.every((w) => !before.includes(w.pid));
      });
    },
    stop,
  };
}

/** The processes of nginx that serve, and those that only end what they have. */
function workersOf(master: number): { pid: number; leaving: boolean }[] {
  const pids = readFileSync(`/proc/${master}/task/${master}/children`, "utf8");
  return pids
    .split(" ")
    .filter(Boolean)
    .flatMap((pid) => {
      try {
        const title = readFileSync(`/proc/${pid}/cmdline`, "latin1");
        return title.includes("worker process")
          ? [{ pid: Number(pid), leaving: title.includes("shutting down") }]
          : [];
      } catch {
        return []; // ended meanwhile
      }
    });
}

const BACKENDS = ["hubs", "hubs_of_workers"];

/** HAProxy: hubs come and go with commands to the running program. */
export async function startHaproxy(
  hubs: readonly string[],
  options: HaproxyOptions = {},
): Promise<TestRouter> {
  const check = options.checks === false ? "" : " check inter 2s fall 2 rise 1";
  let current = hubs.map(hostOf);
  // Drained ones stay known: a new hub may get the port of an old one.
  const known = new Set(current);
  const { dir, port, stop } = await startOn("haproxy", (at, on) => {
    const file = join(at, "haproxy.cfg");
    writeFileSync(file, haproxyConfig(at, on, hubs, options));
    return launch("haproxy", ["-db", "-f", file]);
  });
  const admitted = (server: string, hub: string): string[] =>
    known.has(hub)
      ? [`set server ${server} state ready`]
      : [
          `add server ${server} ${hub}${check}`,
          `enable server ${server}`,
          ...(check === "" ? [] : [`enable health ${server}`]),
        ];
  return {
    url: `http://127.0.0.1:${port}`,
    dir,
    setHubs: async (to) => {
      const wanted = to.map(hostOf);
      const commands = BACKENDS.flatMap((be) => [
        ...wanted
          .filter((hub) => !current.includes(hub))
          .flatMap((hub) => admitted(`${be}/${nameOf(hub)}`, hub)),
        ...current
          .filter((hub) => !wanted.includes(hub))
          .map((hub) => `set server ${be}/${nameOf(hub)} state drain`),
      ]);
      if (commands.length > 0) await tellHaproxy(join(dir, "admin.sock"), commands);
      for (const hub of wanted) known.add(hub);
      current = wanted;
    },
    stop,
  };
}

const tellHaproxy = (path: string, commands: readonly string[]): Promise<void> =>
  new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect(path, () => socket.end(`${commands.join("; ")}\n`));
    socket.on("data", (chunk) => {
      answer += chunk;
    });
    socket.once("error", reject);
    socket.once("close", () => {
      const bad = answer
        .split("\n")
        .find((line) => !["", "New server registered."].includes(line.trim()));
      if (bad === undefined) resolve();
      else reject(new Error(`haproxy: ${commands.join("; ")}: ${bad}`));
    });
  });
