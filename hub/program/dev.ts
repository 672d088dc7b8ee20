import type { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { dirname, join } from "node:path";
import type { HubConfig } from "#hub/platform/config.ts";
import { quoteWord } from "#hub/platform/quote-word.ts";
import { FlotillaError } from "#shared/client/errors.ts";
import type { Http } from "#shared/client/http.ts";
import { type Clock, withDeadline } from "#shared/kit/clock.ts";
import { ConfigError, type EnvSource } from "#shared/kit/env.ts";
import type { Log } from "#shared/kit/log.ts";
import { createScope } from "#shared/kit/scope.ts";
import { type SupervisedChild, superviseChild } from "#shared/kit/supervise-child.ts";
import { trustAuthority } from "#shared/protocol/trust.ts";
import type { FlagValues } from "./cli/args.ts";
import { checkTarget } from "./cli/check-target.ts";
import { EXIT, UsageError } from "./cli/exit.ts";
import { runFetchCommand } from "./cli/fetch.ts";
import { createHubClient } from "./cli/hub-client.ts";
import type { Terminal } from "./cli/print.ts";
import type { Service } from "./cli/run-service.ts";
import { installExamplePlugins } from "./demo/example-plugins.ts";
import { listenDemo } from "./demo/listen.ts";
import { pickLanePorts } from "./lane-ports.ts";
import { type RunningHub, startHub } from "./serve.ts";

/** Chromium's first launch on a cold disk was seen to take 6 s. */
const WORKER_READY_MS = 90_000;

/** The worker validates LANE_POOL; this is only the number of ports to look at. */
const DEFAULT_LANES = 2;
const MAX_LANES = 100;

export interface DevDeps {
  config: HubConfig;
  log: Log;
  clock: Clock;
  version: string;
  /** Command that starts this program. */
  self: string[];
  env: EnvSource;
  flags: FlagValues;
  terminal: Terminal;
}

/** A worker is the same program in another process and joins over the same socket as in production. */
function startWorkerChild(
  deps: DevDeps,
  name: string,
  options: { address: string; flags: string[]; env: EnvSource },
): SupervisedChild {
  const given = (flag: string) => {
    const value = deps.flags[flag]?.at(-1);
    return value === undefined ? [] : [`--${flag}=${value}`];
  };
  return superviseChild({
    name,
    argv: [
      ...deps.self,
      "worker",
      options.address,
      `--data-dir=${join(deps.config.data_dir, name)}`,
      `--log-level=${deps.config.log_level}`,
      `--log-format=${deps.config.log_format}`,
      "--exit-on-stdin-close",
      ...options.flags.flatMap(given),
    ],
    env: { ...deps.env, ...authorityOf(deps.config), ...options.env },
    log: deps.log,
    clock: deps.clock,
  });
}

const authorityOf = ({ tls, tls_ca }: HubConfig): EnvSource =>
  tls === null ? {} : { SVC_TLS_CA: tls_ca ?? tls.cert };

async function startBrowserWorker(deps: DevDeps, url: string): Promise<SupervisedChild> {
  const lanes = Number(deps.flags.lanes?.at(-1) ?? deps.env.LANE_POOL) || DEFAULT_LANES;
  const ports = await pickLanePorts(deps.env, Math.min(lanes, MAX_LANES));
  return startWorkerChild(deps, "worker", {
    address: `--hub-url=${url.replace(/^http/, "ws")}`,
    flags: ["lanes", "headless-lanes", "worker-id"],
    env: { ...ports, SVC_CONTROL_URL: undefined },
  });
}

/**
 * A separate process: a browser worker that dies, or that cannot start because Chromium is missing, takes no task
 * down with it, and a task that exhausts its worker's memory takes no browser down.
 */
const startPipelineWorker = (deps: DevDeps, url: string, token: string): SupervisedChild =>
  startWorkerChild(deps, "pipeline-worker", {
    address: `--control-url=${url}`,
    flags: ["slots", "worker-id"],
    env: { HUB_URL: undefined, SVC_API_TOKEN: token },
  });

/** Where this machine reaches a server that listens on `host`. */
function reachableHost(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host.replace(/^\[|\]$/g, "")}]` : host;
}

/**
 * Where dev mode's own workers reach its hub. With TLS by a name that the certificate has, trusting the certificate
 * itself, or its chain, if no authority is named.
 * @throws ConfigError when it has no such name.
 */
function ownUrl({ host, tls, tls_ca }: HubConfig, { port, certificate }: RunningHub): string {
  const address = reachableHost(host);
  if (tls === null || certificate === null) return `http://${address}:${port}`;
  if (tls_ca === null) trustAuthority(tls.cert);
  const name = [address, "localhost"].find((one) => hasName(certificate, one));
  if (name === undefined)
    throw new ConfigError(
      `SVC_TLS_CERT: dev mode's own workers reach the hub as ${address} or localhost, but the certificate has neither name`,
    );
  return `https://${name}:${port}`;
}

function hasName(certificate: X509Certificate, name: string): boolean {
  const address = name.replace(/^\[|\]$/g, "");
  const found = isIP(address) ? certificate.checkIP(address) : certificate.checkHost(name);
  return found !== undefined;
}

async function hasWarmLane(client: Http): Promise<boolean> {
  const { workers } = await client.call("GET /workers", { timeout_ms: 5_000 });
  return workers.some((w) => w.alive && w.lanes.some((lane) => lane.state === "warm"));
}

async function waitForLane(deps: DevDeps, client: Http, signal: AbortSignal): Promise<void> {
  const end = deps.clock.monotonic() + WORKER_READY_MS;
  while (!signal.aborted && deps.clock.monotonic() < end) {
    const ready = await hasWarmLane(client).catch((err) => {
      if (err instanceof FlotillaError) return false;
      throw err;
    });
    if (ready) return;
    await deps.clock.sleep(100, signal);
  }
  if (signal.aborted) return;
  const seconds = WORKER_READY_MS / 1000;
  throw new Error(
    `no lane was ready within ${seconds} s; to see what this machine lacks: ${ownCommand(deps.self)} doctor worker`,
  );
}

/** Runs the one job of `--fetch` or `--demo`; returns its exit code. */
async function runFirstJob(
  deps: DevDeps,
  url: string,
  { hubUrl, token }: { hubUrl: string; token: string },
  worker: SupervisedChild,
  signal: AbortSignal,
): Promise<number> {
  const { terminal, clock } = deps;
  const client = createHubClient(hubUrl, token);
  const gone = worker.gaveUp.then((code) => ({ code }));
  terminal.err("waiting for the worker's browsers\n");
  const waited = await Promise.race([waitForLane(deps, client, signal), gone]);
  if (waited) return waited.code;
  terminal.err(`fetching ${url}\n`);
  const out = deps.flags.out?.at(-1) ?? null;
  const request = { url, preset: null, options: {}, labels: {}, out, json: false };
  return runFetchCommand({ client, terminal, clock, signal }, request);
}

/** What a person types to run this very program, in any shell and any directory. */
function ownCommand([program = "flotilla", script]: readonly string[]): string {
  if (script !== undefined) return quoteWord(join(dirname(script), "../scripts/flotilla"));
  return Bun.which("flotilla") === program ? "flotilla" : quoteWord(program);
}

/** `code`: logs in the owner of this machine; null if no login is needed. */
interface Shown {
  demo_url: string;
  new_password: string | null;
  code: string | null;
}

function banner(deps: DevDeps, url: string, { demo_url, new_password, code }: Shown): string {
  const program = ownCommand(deps.self);
  return [
    `Flotilla ${deps.version}, development mode`,
    `  admin UI   ${url}/`,
    ...(code === null
      ? []
      : [
          `  log in     ${url}/#login=${code}`,
          "             valid once, within 15 minutes; the next start prints another link",
        ]),
    `  API        ${url}   explorer ${url}/docs`,
    `  demo page  ${demo_url}`,
    `  data       ${deps.config.data_dir}`,
    `  fetch      SVC_HUB=${url} ${program} fetch ${demo_url}`,
    ...(new_password === null
      ? []
      : [
          `  admin      user admin, password ${new_password}`,
          "             shown only once; to get another one, stop this and run",
          `             ${program} admin reset-password --data-dir ${quoteWord(deps.config.data_dir)}`,
        ]),
    "  stop       Ctrl-C",
    "",
  ].join("\n");
}

/**
 * Dev mode: the hub with the control plane on one port in this process, a browser worker and a pipeline worker as child
 * processes.
 * `exited` resolves when `--once` ends with its job.
 */
export async function startDev(deps: DevDeps): Promise<Service> {
  const wanted = deps.flags.fetch?.at(-1);
  if (deps.flags.once && wanted === undefined && !deps.flags.demo)
    throw new UsageError("--once needs --fetch URL or --demo");
  if (wanted !== undefined) checkTarget(wanted);
  const scope = createScope(deps.log);
  const abort = new AbortController();
  try {
    if (!deps.config.given.has("SVC_PLUGINS_DIR"))
      await installExamplePlugins(deps.config.plugins_dir).catch((err) =>
        // The hub reports a data directory that cannot be written.
        deps.log.warn({ err }, "example plugins not installed"),
      );
    const hub = scope.add("hub", await startHub(deps), (h) => h.stop());
    const url = ownUrl(deps.config, hub);
    const { host } = deps.config;
    const demo = scope.add("demo page", listenDemo(host, hub.port + 1), (d) => d.stop());
    const demo_url = `http://${reachableHost(host)}:${demo.port}/demo/`;
    const code = hub.asksForToken() ? await hub.newLoginCode() : null;
    deps.terminal.out(banner(deps, url, { demo_url, new_password: hub.new_password, code }));
    const token = deps.config.api_token ?? hub.own_token;
    const worker = scope.add("worker", await startBrowserWorker(deps, url), (w) => w.stop());
    const pipeline = scope.add("pipeline worker", startPipelineWorker(deps, url, token), (w) =>
      w.stop(),
    );
    const children = [worker, pipeline];
    const target = wanted ?? (deps.flags.demo ? demo_url : null);
    const job =
      target === null
        ? null
        : runFirstJob(deps, target, { hubUrl: url, token }, worker, abort.signal).catch((err) => {
            deps.terminal.err(`flotilla: ${err instanceof Error ? err.message : String(err)}\n`);
            return err instanceof UsageError ? EXIT.usage : EXIT.failed;
          });
    const once = deps.flags.once !== undefined;
    if (job !== null && !once)
      void job.then(() => deps.terminal.err(`serving on ${url}, Ctrl-C stops\n`));
    return {
      reload: () => {
        for (const child of children) child.signal("SIGHUP");
        hub.reload();
      },
      stop: async () => {
        abort.abort();
        if (job !== null) await withDeadline("job", 15_000, job).catch(() => {});
        await scope.close();
      },
      ...(once && job !== null ? { exited: job } : {}),
    };
  } catch (err) {
    await scope.close();
    throw err;
  }
}
