import type { HubEntry } from "#hub/platform/cluster/hubs.ts";
import type { HubConfig } from "#hub/platform/config.ts";
import type { SharedStore } from "#hub/platform/shared-drivers.ts";
import { openShared } from "#hub/platform/stores/open-shared.ts";
import { FlotillaError } from "#shared/client/errors.ts";
import type { Http } from "#shared/client/http.ts";
import { callWithin } from "#shared/kit/call-within.ts";
import { setDeadline, systemClock, withDeadline } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { silentLog } from "#shared/kit/log.ts";
import { BAD_SECRET_REASON, LINK_CLOSE } from "#shared/protocol/link/close.ts";
import type { Registration } from "#shared/protocol/link/messages.ts";
import { fetchHub, openHubSocket } from "#shared/protocol/trust.ts";
import { type Check, fail, ok, warn } from "./check.ts";
import { skewOf } from "./clocks.ts";
import { adviceOnUpgrade, upgradeStatus, whyUnreachable } from "./reach.ts";

const HUB_MS = 5_000;
/** The header is in whole seconds. */
const DATE_STEP_MS = 1_000;
const MAX_SKEW_MS = 5_000;
/** Where a worker of no such name would join. */
const probeUrl = (client: Http): string =>
  client.socketUrl("GET /workers/{worker_id}/link", { params: { worker_id: "doctor-probe" } });

export interface HubTarget {
  client: Http;
  /** The variable that gave the address; null: the default address, where no hub may run yet. */
  named: string | null;
  secret: string | null;
}

const FIRST = "the hub must answer first: see the hub check above";

interface HealthBody {
  status?: unknown;
  workers?: unknown;
  version?: unknown;
  degraded?: { part?: unknown; detail?: unknown }[];
}

/** What a server answers to GET /health, whatever its status; it may be no hub at all. @throws FlotillaError when none does */
const askHealth = (client: Http): Promise<{ status: number; health: HealthBody }> =>
  client.call("GET /health", { timeout_ms: HUB_MS }).then(
    (health) => ({ status: 200, health: health ?? {} }),
    (err) => {
      if (!(err instanceof FlotillaError) || err.status === 0) throw err;
      return { status: err.status, health: (err.body ?? {}) as HealthBody };
    },
  );

/** A configured hub must answer; the default one may not have been started yet. */
export async function checkHub({ client, named }: HubTarget): Promise<Check> {
  const name = "hub";
  const variable = named ?? "HUB_URL";
  try {
    const { status, health } = await askHealth(client);
    const found = `${client.base_url}: ${health.status ?? `HTTP ${status}`}, ${health.workers ?? 0} workers, version ${health.version ?? "unknown"}`;
    if (health.version === undefined) return fail(name, found, adviceOnStranger(status, variable));
    if (status === 200 && health.status === "ok") return ok(name, found);
    const worst = degradedOf(health);
    return fail(
      name,
      [found, ...worst.map((one) => one.found)].join("; "),
      worst[0]?.advice ?? LOG,
    );
  } catch (err) {
    const why = await whyUnreachable(client.base_url, variable);
    const tell = named === null ? warn : fail;
    if (why === null) return tell(name, errorMessage(err), LOG);
    return tell(name, why.found, why.advice);
  }
}

const LOG = "see the hub's log: journalctl -u flotilla-hub";

/** Every hub's `/health` has its version. */
function adviceOnStranger(status: number, variable: string): string {
  if (status === 401 || status === 403)
    return "a router in front of the hub asks for a login: it must let /health and /workers/ through";
  if (status === 421)
    return `the hub does not accept this host name: add the host of ${variable} to its SVC_ALLOWED_HOSTS`;
  if (status === 502 || status === 503 || status === 504)
    return "a router answers, but no hub behind it: check its list of hubs, and whether they run";
  return `what answers there is not a hub: set ${variable} to the address of a hub or of the router in front of the hubs`;
}

const PART_ADVICE: Record<string, string> = {
  database: "free up space on the database's disk, or make it writable; see flotilla doctor hub",
  object_store:
    "free up space where bodies are stored, or make it writable; see flotilla doctor hub",
  disk: "free up space on the disk that is named, or lower SVC_DISK_RESERVE_BYTES",
  backup:
    "free up space in SVC_BACKUP_DIR, or fix what the reason names; try with flotilla backup DIR",
  worker_registry: "Redis must answer the hub: see flotilla doctor hub",
};

/** What does not work in a hub, in the words of its `/health`. */
const degradedOf = ({ degraded }: HealthBody) =>
  (Array.isArray(degraded) ? degraded : []).map(({ part, detail }) => ({
    found: `${part}: ${detail}`,
    advice: PART_ADVICE[String(part)] ?? LOG,
  }));

/** On loopback, by an address that the certificate does not name. */
const OWN = { tls: { rejectUnauthorized: false } };

type OwnPlace = Pick<HubConfig, "port" | "host" | "tls">;

interface OwnAnswer {
  url: string;
  status: number;
  /** Whether it is a success. */
  ok: boolean;
  /** Null when it is not JSON. */
  body: unknown;
}

/** Asks the hub or control plane that runs here on its port, without a token; null when none does. */
export function askOwn({ port, host, tls }: OwnPlace, path: string): Promise<OwnAnswer | null> {
  const at = /^(0\.0\.0\.0|::|)$/.test(host) ? "127.0.0.1" : host;
  const url = `${tls ? "https" : "http"}://${at.includes(":") ? `[${at}]` : at}:${port}${path}`;
  const ask = async (signal: AbortSignal): Promise<OwnAnswer> => {
    const answer = await fetch(url, { ...OWN, signal });
    const { status, ok: is_success } = answer;
    return { url: answer.url, status, ok: is_success, body: await answer.json().catch(() => null) };
  };
  return callWithin(systemClock, { what: url, ms: HUB_MS }, ask).catch(() => null);
}

/** What the hub or control plane that runs here on its port, if any, reports about itself. */
export async function checkOwnHealth(config: OwnPlace): Promise<Check> {
  const name = "health";
  for (const path of ["/health", "/api/v1/health"]) {
    const answer = await askOwn(config, path);
    const body = answer?.body as HealthBody | null | undefined;
    if (!answer || !body || typeof body.version !== "string") continue;
    const worst = degradedOf(body);
    if (worst.length > 0)
      return fail(name, worst.map(({ found }) => found).join("; "), worst[0]?.advice ?? LOG);
    if (!answer.ok) return fail(name, `${answer.url} answers ${answer.status}`, LOG);
    return ok(name, `${answer.url}: nothing is degraded`);
  }
  return ok(name, "it is not running here now");
}

/** The clock of this machine against the hub's Date header. */
export async function checkHubClock({ client, named }: HubTarget): Promise<Check> {
  const name = "clock";
  try {
    const asked = Date.now();
    const headers = await client.open("GET /health", { timeout_ms: HUB_MS }).then(
      async (answer) => {
        await answer.body?.cancel();
        return answer.headers;
      },
      (err) => {
        if (!(err instanceof FlotillaError) || err.status === 0) throw err;
        return err.headers;
      },
    );
    const answered = Date.now();
    const date = Date.parse(headers.get("date") ?? "");
    if (Number.isNaN(date))
      return warn(name, "the hub sends no Date header", "connect to it without a proxy");
    const skew = skewOf(date, asked - DATE_STEP_MS, answered);
    const found =
      skew === 0
        ? "the same as the hub's, to the second"
        : `${(skew / 1_000).toFixed(1)} s off the hub's`;
    if (Math.abs(skew) <= MAX_SKEW_MS) return ok(name, found);
    return fail(name, found, "run timedatectl set-ntp true on both machines");
  } catch (err) {
    return (named === null ? warn : fail)(name, errorMessage(err), FIRST);
  }
}

/** A registration that is refused for its name after its secret was accepted, so that it creates no worker. */
const probe = (secret: string | null): Registration => ({
  type: "registration",
  worker_id: "doctor",
  instance_id: "doctor",
  version: "doctor",
  ...(secret !== null && { secret }),
  address: "127.0.0.1",
  hostname: "doctor",
  lanes: [],
  profiles: [],
  capabilities: {
    max_concurrent: 0,
    lane_novnc_urls: [],
    novnc_url: null,
    browser: null,
    capture: "durable",
  },
  load: { cpu_percent: 0, mem_percent: 0, disk_pct: 0 },
});

function closeOf(url: string, secret: string | null): Promise<{ code: number; reason: string }> {
  return new Promise((done, reject) => {
    const socket = openHubSocket(url);
    const cancel = setDeadline(HUB_MS, () => {
      socket.close();
      reject(new Error(`no answer within ${HUB_MS / 1_000} s`));
    });
    socket.onopen = () => socket.send(JSON.stringify(probe(secret)));
    socket.onclose = ({ code, reason }) => {
      cancel();
      done({ code, reason });
    };
    socket.onerror = () => {};
  });
}

/** Checks WORKER_SECRET, and that WebSockets get through to the hub. */
export async function checkSecret(target: HubTarget): Promise<Check> {
  const name = "worker link";
  const { client, secret } = target;
  try {
    const { code, reason } = await closeOf(probeUrl(client), secret);
    if (code === LINK_CLOSE.bad_secret || reason === BAD_SECRET_REASON)
      return fail(
        name,
        secret === null ? "the hub asks for its secret" : "the hub refuses this WORKER_SECRET",
        "WORKER_SECRET must be the hub's (/etc/flotilla/hub.env), or its SVC_API_TOKEN if it has no such secret",
      );
    if (code === LINK_CLOSE.bad_message)
      return ok(
        name,
        secret === null ? "accepted without WORKER_SECRET" : "WORKER_SECRET is accepted",
      );
    return tellUpgrade(target, `closed with ${code} ${reason}`.trim());
  } catch (err) {
    return tellUpgrade(target, errorMessage(err));
  }
}

/** Why no WebSocket to the hub could be opened. */
async function tellUpgrade({ client, named }: HubTarget, said: string): Promise<Check> {
  const name = "worker link";
  const tell = named === null ? warn : fail;
  const status = await upgradeStatus(probeUrl(client)).catch(() => null);
  if (status === null) return tell(name, said, FIRST);
  if (status === 101) return tell(name, said, LOG);
  const answer = await askHealth(client).catch(() => null);
  if (answer?.health.version === undefined) return tell(name, said, FIRST);
  const { found, advice } = adviceOnUpgrade(status);
  return tell(name, found, advice);
}

/** Workers of another version than the hub fetch its sources, unless that is switched off or failed. */
export async function checkWorkerVersions({ client, named }: HubTarget): Promise<Check> {
  const name = "worker versions";
  try {
    const [{ health }, { workers }] = await Promise.all([
      askHealth(client),
      client.call("GET /workers", { timeout_ms: HUB_MS }),
    ]);
    const version = health.version ?? "unknown";
    const alive = workers.filter((worker) => worker.alive);
    const failed = alive.filter(({ update }) => update?.state === "failed");
    if (failed.length > 0)
      return warn(
        name,
        failed
          .map((w) => `${w.worker_id} could not become ${w.update?.target}: ${w.update?.error}`)
          .join("; "),
        "journalctl -u 'flotilla-worker@*' there shows more; fix it, or install the hub's version by hand",
      );
    const others = alive.filter((worker) => worker.version !== version);
    if (others.length === 0)
      return ok(name, `${workers.length} workers, all of version ${version}`);
    return warn(
      name,
      `hub ${version}; ${others.map((w) => `${w.worker_id} ${w.version}`).join(", ")}`,
      "they update themselves, unless SVC_WORKER_AUTO_FETCH_SOURCE=0: then install the hub's version there",
    );
  } catch (err) {
    if (err instanceof FlotillaError && err.status === 401)
      return warn(name, "the hub requires its token", "set SVC_API_TOKEN to the hub's");
    return (named === null ? warn : fail)(name, errorMessage(err), FIRST);
  }
}

/** Whether anything answers there, whatever it says. */
const answersAt = (url: string): Promise<boolean> =>
  callWithin(systemClock, { what: url, ms: HUB_MS }, async (signal) => {
    const { body } = await fetchHub(url, { signal });
    await body?.cancel();
    return true;
  }).catch(() => false);

/** The fleet's hubs as registered in the store that they share: they must have one version and addresses that answer. */
export async function checkHubs(at: SharedStore): Promise<Check> {
  const name = "hubs";
  const ask = <T>(work: Promise<T>) => withDeadline("the hub registry", HUB_MS, work);
  const shared = await ask(openShared(at, { clock: systemClock, log: silentLog }));
  try {
    const hubs = (await ask(shared.kv.list<HubEntry>("hub:"))).map(({ value }) => value);
    const lines = await Promise.all(
      hubs.map(async ({ url, version }) => {
        const away = !(await answersAt(`${url}/health`));
        return { text: `${url} ${version}${away ? " DOES NOT ANSWER" : ""}`, away, version };
      }),
    );
    const found =
      lines.length === 0 ? "none is registered" : lines.map(({ text }) => text).join(", ");
    if (lines.some(({ away }) => away))
      return fail(
        name,
        found,
        "SVC_ADVERTISE_URL of that hub must be an address that the others can reach",
      );
    if (new Set(lines.map(({ version }) => version)).size > 1)
      return warn(name, found, "install one version on all hubs (guide: how-to/several-machines)");
    return ok(name, found);
  } finally {
    await shared.close();
  }
}
