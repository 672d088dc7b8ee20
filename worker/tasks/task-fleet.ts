import { newToken } from "#shared/protocol/ids.ts";
import { fetchHub } from "#shared/protocol/trust.ts";
import { copyHeaders } from "./pass-headers.ts";
import { type EventsOf, jobEvents } from "./task-fleet-events.ts";

/** A hub, and this worker's token for it. */
export interface FleetAddress {
  hub_url: string;
  token: string | null;
}

/** The fleet for a workload's own code: the value of FLOTILLA_FLEET_URL. */
export interface TaskFleet {
  /** A hub's address for jobs and nothing else. */
  url: string;
  stop(): Promise<void>;
}

/** A hub that takes longer to begin an answer is away. */
const HEAD_MS = 60_000;
/** A job with its options is smaller than this. */
const MAX_BODY_BYTES = 1024 * 1024;

/** A job from its submission to its files. */
const ALLOWED: readonly (readonly [method: string, path: RegExp])[] = [
  ["POST", /^\/jobs(\/[\w-]+\/cancel)?$/],
  ["GET", /^\/jobs\/[\w-]+(\/(result|(events|links|assets|har)\.json|page\.html|log\.txt))?$/],
  ["GET", /^\/jobs\/[\w-]+\/assets\/[^/]+$/],
];
const EVENTS = /^\/jobs\/[\w-]+\/events$/;
const PASSED_ON = ["accept", "content-type", "idempotency-key", "range", "traceparent"];
const PASSED_BACK = ["content-type", "content-range", "etag", "retry-after"];

/**
 * Passes a task's calls about jobs on to the hub (rules/pipeline-executors#the-fleet-in-a-task), so that no task needs the
 * worker's token. It listens on loopback, and its address holds a token that only the tasks of one executor are given.
 */
export function openTaskFleet({ hub_url, token }: FleetAddress): TaskFleet {
  const own = newToken();
  const base = hub_url.replace(/\/+$/, "");
  const headers: Record<string, string> =
    token === null ? {} : { authorization: `Bearer ${token}` };
  const answer = async (
    request: Request,
    server: Bun.Server<EventsOf>,
  ): Promise<Response | undefined> => {
    const { pathname, search } = new URL(request.url);
    const path = pathname.startsWith(`/${own}/`) ? pathname.slice(own.length + 1) : "";
    const address = `${base}${path}${search}`;
    if (EVENTS.test(path) && server.upgrade(request, { data: { address, headers } }))
      return undefined;
    const allowed = ALLOWED.some(
      ([method, shape]) => method === request.method && shape.test(path),
    );
    if (!allowed) return Response.json({ detail: "not found" }, { status: 404 });
    return passOn(request, address, new Headers(headers));
  };
  const server = Bun.serve<EventsOf>({
    hostname: "127.0.0.1",
    port: 0,
    maxRequestBodySize: MAX_BODY_BYTES,
    development: false,
    fetch: answer,
    websocket: jobEvents,
  });
  return {
    url: `http://127.0.0.1:${server.port}/${own}`,
    stop: () => server.stop(true),
  };
}

async function passOn(request: Request, address: string, headers: Headers): Promise<Response> {
  copyHeaders(request.headers, PASSED_ON, headers);
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), HEAD_MS);
  try {
    const answered = await fetchHub(address, {
      method: request.method,
      headers,
      redirect: "manual",
      signal: AbortSignal.any([request.signal, late.signal]),
      ...(request.method === "POST" ? { body: await request.arrayBuffer() } : {}),
    });
    const back = new Headers();
    copyHeaders(answered.headers, PASSED_BACK, back);
    return new Response(answered.body, { status: answered.status, headers: back });
  } catch {
    return Response.json({ detail: "the hub cannot be reached" }, { status: 502 });
  } finally {
    clearTimeout(timer);
  }
}
