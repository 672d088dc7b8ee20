import { pathOf } from "#shared/client/operation.ts";
import type { Clock } from "#shared/kit/clock.ts";
import { newToken } from "#shared/protocol/ids.ts";
import { MAX_BLOB_BYTES } from "#shared/protocol/schema/plugin.ts";
import { fetchHub } from "#shared/protocol/trust.ts";
import { copyHeaders } from "./pass-headers.ts";

export interface PluginStoreDeps {
  control_url: string;
  /** Those of this worker's calls to the control plane. */
  headers: Record<string, string>;
  clock: Clock;
  signal: AbortSignal;
}

/** Where tasks reach their plugin's state and blobs. */
export interface PluginStore {
  /** Address for the tasks of one plugin: it opens that plugin's state and blobs and nothing else. */
  urlFor(slug: string): string;
  stop(): Promise<void>;
}

const CALL_MS = 30_000;
const AGAIN_MS = 250;
const PASSED_ON = ["content-type", "if-match", "if-none-match", "range"];
const PASSED_BACK = ["content-type", "etag", "content-range"];

type Kind = "state" | "blob";
const PLACE = /^\/([^/]+)\/(state|blob)\/(.+)$/;

/** Errors that mean that nobody listened, so nothing was done. */
const wasRefused = (err: unknown): boolean =>
  err instanceof Error &&
  "code" in err &&
  /^(ConnectionRefused|ECONNREFUSED)$/.test(String(err.code));

/**
 * Passes tasks' calls on to the control plane, so that tasks need none of this worker's secrets. It listens on
 * loopback, and its addresses hold a token that only the plugin's own tasks are given.
 */
export function startPluginStore(deps: PluginStoreDeps): PluginStore {
  const { headers, clock, signal } = deps;
  const base = deps.control_url.replace(/\/+$/, "");
  /** Waits for a control plane that restarts, but never repeats a call that it may have carried out. */
  const patiently = async (over: AbortSignal, call: () => Promise<Response>): Promise<Response> => {
    for (;;) {
      const answered = await call().catch((err: unknown) => {
        if (over.aborted || !wasRefused(err)) throw err;
        return null;
      });
      if (answered && answered.status !== 503) return answered;
      await answered?.body?.cancel();
      await clock.sleep(AGAIN_MS, over);
      over.throwIfAborted();
    }
  };
  const tokens = new Map<string, string>();
  const slugs = new Map<string, string>();
  const answer = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    const [, token = "", kind = "", key = ""] = PLACE.exec(pathname) ?? [];
    const slug = slugs.get(token);
    if (slug === undefined) return Response.json({ detail: "not found" }, { status: 404 });
    const address =
      base + pathOf(`GET /api/v1/plugins/{slug}/${kind as Kind}`, { params: { slug } });
    const passed = new Headers(headers);
    copyHeaders(request.headers, PASSED_ON, passed);
    // Read whole: it is small, the control plane needs its length, and it may be sent again.
    const body = request.method === "PUT" ? { body: await request.arrayBuffer() } : {};
    const over = AbortSignal.any([signal, request.signal, AbortSignal.timeout(CALL_MS)]);
    try {
      const answered = await patiently(over, () =>
        // Whatever it answers is the task's to judge, and the key is passed on as the task wrote it.
        fetchHub(`${address}/${key}`, {
          method: request.method,
          headers: passed,
          redirect: "manual",
          signal: over,
          ...body,
        }),
      );
      const back = new Headers();
      copyHeaders(answered.headers, PASSED_BACK, back);
      return new Response(answered.body, { status: answered.status, headers: back });
    } catch {
      return Response.json({ detail: "the control plane cannot be reached" }, { status: 502 });
    }
  };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    // One byte more than a blob may have, so that the control plane is the one to say that it is too large.
    maxRequestBodySize: MAX_BLOB_BYTES + 1,
    development: false,
    fetch: answer,
  });
  return {
    urlFor: (slug) => {
      const token = tokens.get(slug) ?? newToken();
      tokens.set(slug, token);
      slugs.set(token, slug);
      return `http://127.0.0.1:${server.port}/${token}`;
    },
    stop: () => server.stop(true),
  };
}
