import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { sameSecret } from "#shared/kit/secret.ts";
import { METRICS_TYPE, type Meters } from "./meters.ts";

/** A port that another process has is tried again: work goes on without metrics, and does not wait for them. */
const AGAIN_MS = 10_000;

interface MetricsAddress {
  hostname: string;
  port: number;
}

interface ListenerDeps {
  address: MetricsAddress;
  /** What a scraper must send as `Authorization: Bearer …`; null: nothing. */
  token: string | null;
  meters: Pick<Meters, "text">;
  clock: Clock;
  log: Log;
}

export interface MetricsListener {
  /** The port that is listened to; null while another process has it. */
  port(): number | null;
  stop(): Promise<void>;
}

const plain = (status: number, text: string, headers: Record<string, string> = {}) =>
  new Response(text, { status, headers: { "Content-Type": "text/plain", ...headers } });

async function answer(request: Request, { token, meters }: ListenerDeps): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname !== "/metrics" && pathname !== "/live")
    return plain(404, "this listener has /metrics and /live\n");
  if (request.method !== "GET" && request.method !== "HEAD")
    return plain(405, "only GET\n", { Allow: "GET, HEAD" });
  if (pathname === "/live") return Response.json({ status: "live" });
  const given = /^Bearer (.*)$/i.exec(request.headers.get("authorization") ?? "")?.[1] ?? "";
  if (token !== null && !sameSecret(given, token))
    return plain(401, "needs SVC_METRICS_TOKEN as a bearer token\n", {
      "WWW-Authenticate": "Bearer",
    });
  return plain(200, await meters.text(), { "Content-Type": METRICS_TYPE });
}

/** Serves `/metrics` and `/live` of a worker (rules/metrics#of-a-worker). */
export function startMetricsListener(deps: ListenerDeps): MetricsListener {
  const { address, clock, log } = deps;
  const stopping = new AbortController();
  const listen = () =>
    Bun.serve({
      hostname: address.hostname,
      port: address.port,
      // Nothing that is sent here is read.
      maxRequestBodySize: 1_024,
      idleTimeout: 30,
      fetch: (request) => answer(request, deps),
      error: (err) => {
        log.error({ err }, "metrics could not be told");
        return plain(500, "the metrics could not be told; the worker's log says why\n");
      },
    });
  let server: ReturnType<typeof listen> | null = null;
  const keepTrying = async () => {
    for (let told = ""; server === null && !stopping.signal.aborted; ) {
      try {
        server = listen();
        log.info({ url: `${server.url}metrics` }, "metrics are served");
      } catch (err) {
        const reason = errorMessage(err);
        if (reason !== told)
          log.error({ address, err: reason }, "metrics cannot be served; trying again");
        told = reason;
        await clock.sleep(AGAIN_MS, stopping.signal);
      }
    }
  };
  const trying = keepTrying();
  return {
    port: () => server?.port ?? null,
    stop: async () => {
      stopping.abort();
      await trying;
      await server?.stop(true);
    },
  };
}
