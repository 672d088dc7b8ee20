import { systemClock, withDeadline } from "#shared/clock.ts";
import { errorMessage } from "#shared/errors.ts";
import { BAD_SECRET_REASON, LINK_CLOSE, type Registration } from "#shared/link/messages.ts";
import { silentLog } from "#shared/log.ts";
import { fetchHub, openHubSocket } from "#shared/trust.ts";
import type { HubClient } from "../../cli/hub-client.ts";
import type { HubEntry } from "../../cluster/hubs.ts";
import { openShared } from "../../stores/open-shared.ts";
import { type Check, fail, ok, warn } from "./check.ts";
import { skewOf } from "./stores.ts";

const HUB_MS = 5_000;
/** The header has whole seconds. */
const DATE_STEP_MS = 1_000;
const MAX_SKEW_MS = 5_000;

export interface HubTarget {
  client: HubClient;
  /** An address was given; the default one may not be started yet. */
  named: boolean;
  secret: string | null;
}

/** A hub that was named must answer; the default one may not be started yet. */
export async function checkHub({ client, named }: HubTarget): Promise<Check> {
  const name = "hub";
  try {
    const { status, body } = await client.call("GET", "/health", undefined, HUB_MS);
    const health = (body ?? {}) as { status?: unknown; workers?: unknown; version?: unknown };
    const found = `${client.url}: ${health.status ?? status}, ${health.workers ?? 0} workers, version ${health.version ?? "unknown"}`;
    if (status === 200 && health.status === "ok") return ok(name, found);
    return fail(name, found, "look at the hub's log: journalctl -u flotilla-hub");
  } catch (err) {
    return (named ? fail : warn)(
      name,
      errorMessage(err),
      "start one (flotilla dev), or set HUB_URL or SVC_HUB to its address",
    );
  }
}

/** The clock of this machine against the hub's Date header. */
export async function checkHubClock({ client, named }: HubTarget): Promise<Check> {
  const name = "clock";
  try {
    const asked = Date.now();
    const answer = await client.open("/health", AbortSignal.timeout(HUB_MS));
    const answered = Date.now();
    await answer.body?.cancel();
    const date = Date.parse(answer.headers.get("date") ?? "");
    if (Number.isNaN(date))
      return warn(name, "the hub sends no Date header", "ask it without a proxy");
    const skew = skewOf(date, asked - DATE_STEP_MS, answered);
    const found =
      skew === 0 ? "as the hub's, to the second" : `${(skew / 1_000).toFixed(1)} s off the hub's`;
    if (Math.abs(skew) <= MAX_SKEW_MS) return ok(name, found);
    return fail(name, found, "timedatectl set-ntp true, on both machines");
  } catch (err) {
    return (named ? fail : warn)(name, errorMessage(err), "the hub has to answer first");
  }
}

/** A registration that is refused for its name after its secret was taken: no worker comes of it. */
const probe = (secret: string | null): Registration => ({
  ...{ type: "registration", worker_id: "doctor", instance_id: "doctor", version: "doctor" },
  ...(secret !== null && { secret }),
  ...{ address: "127.0.0.1", hostname: "doctor", lanes: [], profiles: [] },
  capabilities: {
    ...{ max_concurrent: 0, lane_novnc_urls: [], novnc_url: null, browser: null },
    capture: "durable",
  },
  load: { cpu_percent: 0, mem_percent: 0, disk_pct: 0 },
});

function closeOf(url: string, secret: string | null): Promise<{ code: number; reason: string }> {
  return new Promise((done, reject) => {
    const socket = openHubSocket(url);
    const timer = setTimeout(() => {
      socket.close();
      reject(new Error(`no answer within ${HUB_MS / 1_000} s`));
    }, HUB_MS);
    socket.onopen = () => socket.send(JSON.stringify(probe(secret)));
    socket.onclose = ({ code, reason }) => {
      clearTimeout(timer);
      done({ code, reason });
    };
    socket.onerror = () => {};
  });
}

/** WORKER_SECRET, and that WebSockets get through to the hub. */
export async function checkSecret({ client, named, secret }: HubTarget): Promise<Check> {
  const name = "worker link";
  try {
    const { code, reason } = await closeOf(client.socketUrl("/workers/doctor-probe/link"), secret);
    if (code === LINK_CLOSE.bad_secret || reason === BAD_SECRET_REASON)
      return fail(
        name,
        "the hub refuses this WORKER_SECRET",
        "WORKER_SECRET must be the hub's (/etc/flotilla/hub.env)",
      );
    if (code === LINK_CLOSE.bad_message)
      return ok(name, secret === null ? "taken without WORKER_SECRET" : "WORKER_SECRET is taken");
    return (named ? fail : warn)(
      name,
      `closed with ${code} ${reason}`.trim(),
      "a router between must let WebSockets through",
    );
  } catch (err) {
    return (named ? fail : warn)(
      name,
      errorMessage(err),
      "a router between must let WebSockets through",
    );
  }
}

interface Versioned {
  version: string;
  worker_id?: string;
}

/** Workers of another version than the hub fetch its sources, unless that is switched off. */
export async function checkWorkerVersions({ client, named }: HubTarget): Promise<Check> {
  const name = "worker versions";
  try {
    const [health, listed] = await Promise.all(
      ["/health", "/workers"].map((path) => client.call("GET", path, undefined, HUB_MS)),
    );
    if (listed?.status === 401)
      return warn(name, "the hub asks for its token", "set SVC_API_TOKEN to the hub's");
    const version = (health?.body as Versioned | null)?.version ?? "unknown";
    const workers =
      (listed?.body as { workers?: (Versioned & { alive: boolean })[] } | null)?.workers ?? [];
    const others = workers.filter((worker) => worker.alive && worker.version !== version);
    if (others.length === 0)
      return ok(name, `${workers.length} workers, all of version ${version}`);
    return warn(
      name,
      `hub ${version}; ${others.map((w) => `${w.worker_id} ${w.version}`).join(", ")}`,
      "they update themselves unless SVC_WORKER_AUTO_FETCH_SOURCE=0; else install the hub's version there",
    );
  } catch (err) {
    return (named ? fail : warn)(name, errorMessage(err), "the hub has to answer first");
  }
}

/** The hubs of the fleet, as they registered themselves in Redis: one version, addresses that answer. */
export async function checkHubs(redis_url: string, prefix: string): Promise<Check> {
  const name = "hubs";
  const ask = <T>(work: Promise<T>) => withDeadline("the hub registry", HUB_MS, work);
  const shared = await ask(openShared(redis_url, { clock: systemClock, log: silentLog, prefix }));
  try {
    const hubs = (await ask(shared.kv.list<HubEntry>("hub:"))).map(({ value }) => value);
    const lines = await Promise.all(
      hubs.map(async ({ url, version }) => {
        const answer = await fetchHub(`${url}/health`, {
          signal: AbortSignal.timeout(HUB_MS),
        }).catch(() => null);
        await answer?.body?.cancel();
        return {
          text: `${url} ${version}${answer ? "" : " DOES NOT ANSWER"}`,
          away: !answer,
          version,
        };
      }),
    );
    const found =
      lines.length === 0 ? "none is registered" : lines.map(({ text }) => text).join(", ");
    if (lines.some(({ away }) => away))
      return fail(name, found, "SVC_ADVERTISE_URL of that hub must be an address the others reach");
    if (new Set(lines.map(({ version }) => version)).size > 1)
      return warn(name, found, "install one version on all hubs (README, Several machines)");
    return ok(name, found);
  } finally {
    await shared.close();
  }
}
