import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { z } from "zod";
import {
  blankIsUnset,
  ConfigError,
  type EnvSource,
  flag,
  integer,
  list,
  listenAddress,
  optionalInteger,
  optionalText,
  parseEnv,
  RELOADED,
  seconds,
  secretText,
  secretUrl,
  text,
  urlText,
} from "#shared/kit/env.ts";
import { LOG_FORMATS, LOG_LEVELS } from "#shared/kit/log.ts";
import { workerSecret } from "#shared/kit/secret.ts";
import { OtelEnv, tracingOf } from "#shared/kit/tracing/otel-env.ts";
import { EgressMode, EgressRuleText } from "#shared/protocol/egress.ts";
import { WORKER_ID } from "#shared/protocol/ids.ts";
import { CDP_PORT_BASE, DISPLAY_BASE, VNC_PORT_BASE } from "#shared/protocol/limits.ts";
import { bypassRule, ProxyOption } from "#shared/protocol/proxy.ts";
import { MAX_SLOTS } from "#shared/protocol/schema/pull.ts";
import { Slug } from "#shared/protocol/schema/workload.ts";
import { isPublicKey } from "#shared/protocol/update-proof.ts";

const GIB = 1024 ** 3;
const NAVIGATION_BLOCKS = ["loopback", "private"] as const;

/** Default of SVC_SLOTS. */
const DEFAULT_SLOTS = 4;

const controlUrl = urlText(/^https?:$/, "an http:// or https://");

const egressRules = () => list().pipe(z.array(EgressRuleText).max(1_000));

const linkUrl = urlText(/^(ws|http)s?:$/, "a ws://, wss://, http:// or https://");

/** Every variable a worker reads, with its unit and default; the guide's table is generated from it. */
export const WorkerEnv = z.object({
  HUB_URL: linkUrl
    .optional()
    .describe("Address of the hub, e.g. `ws://hub:8000`; if set, the worker runs browsers."),
  SVC_CONTROL_URL: controlUrl
    .optional()
    .describe("Control plane, e.g. `http://control:8000`; if set, the worker runs tasks."),
  SVC_SLOTS: integer(DEFAULT_SLOTS, 1, MAX_SLOTS).describe(
    "How many tasks, or batches of them, this worker runs at the same time.",
  ),
  SVC_WORKLOADS: list()
    .pipe(z.array(Slug).max(1_000))
    .describe(
      "Workloads that this worker runs if the control plane does not know it yet, comma-separated; all by default.",
    ),
  SVC_AGENT: flag(false).describe(
    "1: supervise worker instances on this host, as the control plane requests.",
  ),
  SVC_TASK_ENV: list()
    .pipe(
      z.array(
        z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be names of variables, comma-separated"),
      ),
    )
    .describe(
      "Names of the worker's variables that its tasks may read, comma-separated; `BUN_…` can only be set in a workload's `env`.",
    ),
  SVC_API_TOKEN: secretText().describe("Token of hub and control plane, if they require one."),
  SVC_TLS_CA: optionalText()
    .meta(RELOADED)
    .describe(
      "File of the authority (PEM) that signed the hubs' certificates: then no other hub is trusted; unset: the system's authorities.",
    ),
  WORKER_SECRET: secretText().describe(
    "Shared secret of the worker link; unset: one derived from SVC_API_TOKEN, if that is set.",
  ),
  SVC_WORKER_ID: z
    .string()
    .regex(WORKER_ID, "must be letters, digits, - and _, at most 64")
    .optional()
    .describe(
      "Name of this worker; by default `w` and the last two octets of its LAN address; a further pull worker on the host takes the next free `-2`, `-3` …",
    ),
  LANE_POOL: integer(2, 1, 100).describe("Lanes (browsers) of this worker."),
  MAX_CONCURRENT: optionalInteger(0, 1_000).describe(
    "How many jobs and sessions this worker runs at the same time; by default as many as it has lanes.",
  ),
  NOVNC_PUBLIC_HOST: text("localhost").describe("Host used in viewer links; the hub corrects it."),
  NOVNC_BASE_PORT: integer(6080, 1, 65_535).describe(
    "Viewer port of lane 0; lane i uses this + i.",
  ),
  SVC_DATA_DIR: text("./data").describe("Directory for everything this worker writes."),
  SVC_LOG_LEVEL: z
    .enum(LOG_LEVELS)
    .default("info")
    .meta(RELOADED)
    .describe("debug, info, warn or error."),
  SVC_LOG_FORMAT: z
    .enum(LOG_FORMATS)
    .default("auto")
    .describe("human, json or auto: human on a terminal, JSON elsewhere."),
  SVC_CHROMIUM: optionalText().describe(
    "Path of the browser; by default the first of chromium, chromium-browser and google-chrome in PATH.",
  ),
  SVC_BROWSER_USER: optionalText().describe(
    "Account that Chromium runs as when the worker is root. Unset: flotilla-browser.",
  ),
  SVC_BROWSER_SANDBOX: z
    .enum(["on", "off"])
    .default("on")
    .describe(
      "off: Chromium runs without its own sandbox, and as root if the worker is root and SVC_BROWSER_USER is unset. Only for machines where no sandbox is possible: a hostile page that breaks out of Chromium then has the worker's rights.",
    ),
  SVC_HEADLESS_LANES: flag(false).describe(
    "1: lanes without a display; Xvnc is not needed, and there is nothing to watch.",
  ),
  SVC_DISPLAY_BASE: integer(DISPLAY_BASE, 1, 60_000).describe(
    "X display of lane 0; lane i uses this + i.",
  ),
  SVC_CDP_PORT_BASE: integer(CDP_PORT_BASE, 1, 65_535).describe(
    "Debugging port of lane 0 (loopback only); lane i uses this + i.",
  ),
  SVC_VNC_PORT_BASE: integer(VNC_PORT_BASE, 1, 65_535).describe(
    "VNC port of lane 0 (loopback only); lane i uses this + i.",
  ),
  SVC_SPOOL_MAX_BYTES: integer(4 * GIB, 1).describe(
    "Bytes that one job may spool on the worker's disk; also the limit for all jobs together that wait for the hub's store without a lane.",
  ),
  SVC_UPLOAD_WAIT_S: seconds(3_600).describe(
    "How long a job without a lane waits for a hub whose disk is full or read-only, or whose store is away, before its bodies are lost; 0: 30 s, in its lane.",
  ),
  SVC_PROFILE_CACHE_BYTES: integer(4 * GIB).describe(
    "Profile archives kept on the worker's disk; the least recently used are removed first.",
  ),
  SVC_CHROME_CONFIG_DIR: optionalText().describe(
    "Where clone_chrome_profile finds the browsers' directories; default XDG_CONFIG_HOME or ~/.config.",
  ),
  SVC_LANE_SOFT_BYTES: integer(1.5 * GIB, 1).describe(
    "Memory of an idle lane above which its Chromium is replaced.",
  ),
  SVC_LANE_HARD_BYTES: integer(2.5 * GIB, 1).describe(
    "Memory of a lane above which its Chromium is killed.",
  ),
  SVC_NAVIGATION_BLOCK: list()
    .pipe(z.array(z.enum(NAVIGATION_BLOCKS)))
    .describe("Address ranges that jobs may not open: loopback, private."),
  SVC_EGRESS: EgressMode.default("open").describe(
    "Where lanes may connect. open: everywhere; public: no loopback, no private addresses; listed: only what SVC_EGRESS_ALLOW names. Never allowed: hubs, bridges, the lanes' own ports, link-local and metadata addresses.",
  ),
  SVC_EGRESS_ALLOW: egressRules().describe(
    "Exceptions from SVC_EGRESS and SVC_NAVIGATION_BLOCK, comma-separated: addresses, CIDR ranges and host names with `*`, each with `:port` or `:from-to` if it is meant only for these ports.",
  ),
  SVC_EGRESS_DENY: egressRules().describe(
    "Where lanes may not connect, in the form of SVC_EGRESS_ALLOW, which it overrides.",
  ),
  SVC_PROXY: secretUrl().describe(
    "Proxy for lanes whose job, session and host name none: `http://`, `https://` (TLS to the proxy) or `socks5://`, `USER:PASSWORD@` if it requires a login, host and port.",
  ),
  SVC_PROXY_BYPASS: list()
    .pipe(
      z
        .array(
          z
            .string()
            .refine(
              (entry) => bypassRule(entry) !== null,
              "must be host names (`.example.com` for all below it), addresses and CIDR ranges, comma-separated",
            ),
        )
        .max(1_000),
    )
    .describe(
      "Hosts to which lanes connect without SVC_PROXY, comma-separated: host names, `.example.com` for all below it, addresses and CIDR ranges.",
    ),
  SVC_WORKER_WATCHDOG_THRESHOLD_S: seconds(300, 1).describe(
    "Stall of the event loop after which the worker exits.",
  ),
  SVC_WORKER_WATCHDOG_LINK_THRESHOLD_S: seconds(600).describe(
    "Silence of the hub after which the worker exits; 0 turns it off.",
  ),
  SVC_DRAIN_TIMEOUT_S: seconds(30).describe(
    "How long a stopping hub or worker waits for running jobs and open sessions",
  ),
  SVC_WORKER_AUTO_FETCH_SOURCE: flag(true).describe(
    "0: do not fetch the hub's version when it differs; only warn.",
  ),
  SVC_WORKER_AUTO_EXIT_ON_VERSION_MISMATCH: flag(true).describe(
    "0: keep running when the hub has another version; only warn.",
  ),
  SVC_WORKER_SELF_RESTART: flag(true).describe(
    "0: exit with 42 after an update and leave the restart to a supervisor.",
  ),
  SVC_WORKER_UPDATE_WAIT_S: seconds(1_800).describe(
    "How long open sessions may delay an update before they are ended.",
  ),
  SVC_UPDATE_KEY: optionalText()
    .refine((key) => key === undefined || isPublicKey(key), {
      error: "must be a key as flotilla doctor hub prints it, 43 letters and digits",
    })
    .describe(
      "Public key that the hub's updates must be signed with; unset: the first key seen is kept in the data directory",
    ),
  SVC_WORKER_HANDSHAKE_TIMEOUT_S: seconds(120, 1).describe(
    "How long an updated version may take to register with its hub before it counts as failed.",
  ),
  SVC_CODEHOST_REPO: optionalText().describe(
    "Release feed for workers whose hub offers no version: `owner/name` on GitHub, or an address that has releases/latest below it.",
  ),
  SVC_CODEHOST_INTERVAL_S: seconds(3_600, 1).describe(
    "How often the release feed is checked, give or take a fifth.",
  ),
  SVC_METRICS_ADDR: listenAddress().describe(
    "Address that the worker serves `/metrics` at, for Prometheus: `127.0.0.1:9464`, or `:9464` for every interface; unset: none.",
  ),
  SVC_METRICS_TOKEN: secretText().describe("Bearer token that its `/metrics` needs; unset: none."),
  ...OtelEnv,
  WORKER_VERSION: optionalText().describe("Version to report if none can be computed."),
  SVC_BROWSER_CA: optionalText().describe(
    "File of authorities (PEM) that browsers trust besides Chromium's own, such as that of your network; needs certutil, of Debian's `libnss3-tools`.",
  ),
  SVC_SHOW_AUTOMATION: flag(false).describe(
    "1: `navigator.webdriver` is true in pages, as the WebDriver standard wants it of browsers that a program steers; by default pages see what they see in a person's browser.",
  ),
  SVC_IGNORE_CERTIFICATE_ERRORS: flag(false).describe(
    "1: jobs also open sites with invalid TLS certificates.",
  ),
});

/** Variables that Chromium and Xvnc get from the worker's environment: never a secret. */
const INHERITED =
  /^(PATH|LANG|LANGUAGE|LC_[A-Z]+|TZ|FONTCONFIG_[A-Z]+|LD_LIBRARY_PATH|(https?|no|all)_proxy|FLOTILLA_[A-Z_]+)$/i;

/** Further variables that tasks get: where an interpreter finds its packages and a library its GPU. */
const TASKS_INHERIT = /^(HOME|USER|TMPDIR|VIRTUAL_ENV|PYTHON[A-Z0-9]*|(CUDA|NVIDIA)_[A-Z_]+)$/;

type Values = z.output<typeof WorkerEnv>;

/** Port ranges [first, first + lanes) by the variable that sets them. */
const portRanges = (v: Values): [string, number][] => [
  ["SVC_CDP_PORT_BASE", v.SVC_CDP_PORT_BASE],
  ["SVC_VNC_PORT_BASE", v.SVC_VNC_PORT_BASE],
  ["NOVNC_BASE_PORT", v.NOVNC_BASE_PORT],
];

function checkTogether(v: Values): void {
  const ranges = portRanges(v);
  for (const [name, first] of ranges)
    if (first + v.LANE_POOL - 1 > 65_535)
      throw new ConfigError(
        `${name}: ${first} leaves no room for ${v.LANE_POOL} lanes below 65536`,
      );
  for (const [i, [name, first]] of ranges.entries())
    for (const [other, otherFirst] of ranges.slice(i + 1))
      if (Math.abs(first - otherFirst) < v.LANE_POOL)
        throw new ConfigError(`${other}: overlaps ${name} with ${v.LANE_POOL} lanes`);
  if (v.SVC_LANE_HARD_BYTES < v.SVC_LANE_SOFT_BYTES)
    throw new ConfigError("SVC_LANE_HARD_BYTES: is below SVC_LANE_SOFT_BYTES");
}

/**
 * Reads the worker's configuration (rules/workers#variables-of-a-worker). `overrides` are command-line flags under their
 * variable's name and override `env`. Sizes are bytes, times milliseconds, `data_dir` absolute; null means unset.
 * @throws ConfigError naming every bad variable.
 */
export function loadWorkerConfig(env: EnvSource, overrides: EnvSource) {
  const merged = { ...env };
  for (const [name, value] of Object.entries(overrides))
    if (value !== undefined) merged[name] = value;
  const v = parseEnv(WorkerEnv, merged);
  checkTogether(v);
  return deepFreeze({
    hub_url: v.HUB_URL ?? null,
    tls_ca: v.SVC_TLS_CA ?? null,
    worker_secret: workerSecret(v.WORKER_SECRET, v.SVC_API_TOKEN),
    worker_id: v.SVC_WORKER_ID ?? null,
    version: v.WORKER_VERSION ?? null,
    data_dir: resolve(v.SVC_DATA_DIR),
    log_level: v.SVC_LOG_LEVEL,
    log_format: v.SVC_LOG_FORMAT,
    max_concurrent: v.MAX_CONCURRENT ?? v.LANE_POOL,
    drain_ms: v.SVC_DRAIN_TIMEOUT_S,
    novnc: { public_host: v.NOVNC_PUBLIC_HOST, base_port: v.NOVNC_BASE_PORT },
    lanes: {
      count: v.LANE_POOL,
      headless: v.SVC_HEADLESS_LANES,
      display_base: v.SVC_DISPLAY_BASE,
      cdp_port_base: v.SVC_CDP_PORT_BASE,
      vnc_port_base: v.SVC_VNC_PORT_BASE,
      soft_bytes: v.SVC_LANE_SOFT_BYTES,
      hard_bytes: v.SVC_LANE_HARD_BYTES,
    },
    chrome_config_dir: v.SVC_CHROME_CONFIG_DIR ?? configHome(env),
    profile_cache_bytes: v.SVC_PROFILE_CACHE_BYTES,
    browser: browserOf(v, env),
    pipeline: {
      control_url: v.SVC_CONTROL_URL ?? null,
      slots: v.SVC_SLOTS,
      workloads: v.SVC_WORKLOADS,
      api_token: v.SVC_API_TOKEN ?? null,
      environment: taskEnvironment(env, v.SVC_TASK_ENV),
    },
    agent: {
      enabled: v.SVC_AGENT,
      environment: instanceEnvironment(blankIsUnset(merged), v.SVC_TASK_ENV),
    },
    fetch: {
      spool_max_bytes: v.SVC_SPOOL_MAX_BYTES,
      upload_wait_ms: v.SVC_UPLOAD_WAIT_S,
      navigation_block: v.SVC_NAVIGATION_BLOCK,
    },
    egress: {
      mode: v.SVC_EGRESS,
      allow: v.SVC_EGRESS_ALLOW,
      deny: v.SVC_EGRESS_DENY,
      proxy: proxyOf(v),
    },
    update: {
      fetches: v.SVC_WORKER_AUTO_FETCH_SOURCE,
      exits: v.SVC_WORKER_AUTO_EXIT_ON_VERSION_MISMATCH,
      restarts_itself: v.SVC_WORKER_SELF_RESTART,
      wait_ms: v.SVC_WORKER_UPDATE_WAIT_S,
      hub_key: v.SVC_UPDATE_KEY ?? null,
      handshake_ms: v.SVC_WORKER_HANDSHAKE_TIMEOUT_S,
      release_feed: v.SVC_CODEHOST_REPO ?? null,
      release_every_ms: v.SVC_CODEHOST_INTERVAL_S,
    },
    tracing: tracingOf(v),
    metrics: { address: v.SVC_METRICS_ADDR ?? null, token: v.SVC_METRICS_TOKEN ?? null },
    watchdog: {
      stall_ms: v.SVC_WORKER_WATCHDOG_THRESHOLD_S,
      /** 0: off. */
      link_ms: v.SVC_WORKER_WATCHDOG_LINK_THRESHOLD_S,
    },
  });
}

const browserOf = (v: Values, env: EnvSource) => ({
  program: v.SVC_CHROMIUM ?? null,
  user: v.SVC_BROWSER_USER ?? null,
  sandbox: v.SVC_BROWSER_SANDBOX,
  ignore_certificate_errors: v.SVC_IGNORE_CERTIFICATE_ERRORS,
  shows_automation: v.SVC_SHOW_AUTOMATION,
  authorities: v.SVC_BROWSER_CA ?? null,
  environment: inheritedEnvironment(env),
});

/** @throws ConfigError that does not repeat what may hold a password. */
function proxyOf({ SVC_PROXY, SVC_PROXY_BYPASS }: Values): ProxyOption | null {
  if (SVC_PROXY === undefined) return null;
  const bypass = SVC_PROXY_BYPASS.join(",");
  const read = ProxyOption.safeParse(SVC_PROXY);
  if (read.success) return { ...read.data, bypass: bypass === "" ? null : bypass };
  throw new ConfigError(`SVC_PROXY: ${read.error.issues[0]?.message}`);
}

/** The operator's own browsers keep their profiles below it. */
const configHome = (env: EnvSource): string => env.XDG_CONFIG_HOME || join(homedir(), ".config");

export type WorkerConfig = ReturnType<typeof loadWorkerConfig>;

function pick(env: EnvSource, wanted: (name: string) => boolean): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && wanted(name)) picked[name] = value;
  return picked;
}

const inheritedEnvironment = (env: EnvSource): Record<string, string> => ({
  PATH: "/usr/local/bin:/usr/bin:/bin",
  ...pick(env, (name) => INHERITED.test(name)),
});

const taskEnvironment = (env: EnvSource, named: readonly string[]): Record<string, string> => ({
  ...inheritedEnvironment(env),
  ...pick(env, (name) => TASKS_INHERIT.test(name) || named.includes(name)),
});

/** Variables that each instance has for itself, and those that would make it something other than a pull worker. */
const NOT_FOR_INSTANCES = /^(HUB_URL|SVC_(AGENT|DATA_DIR|METRICS_ADDR|WORKER_ID))$/;

/**
 * Instances are configured like their agent, including secrets of the control plane; the only other thing they get is
 * where they log to: their standard error is the agent's own.
 */
const instanceEnvironment = (env: EnvSource, named: readonly string[]): Record<string, string> => ({
  ...taskEnvironment(env, named),
  ...pick(env, (name) => name === "JOURNAL_STREAM"),
  ...pick(env, (name) => name in WorkerEnv.shape && !NOT_FOR_INSTANCES.test(name)),
});

function deepFreeze<T extends object>(value: T): T {
  for (const member of Object.values(value))
    if (typeof member === "object" && member !== null) deepFreeze(member);
  return Object.freeze(value);
}
