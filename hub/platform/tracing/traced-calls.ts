import type { MiddlewareHandler } from "hono";
import { parseTraceparent } from "#shared/kit/tracing/trace-context.ts";
import type { Tracer } from "#shared/kit/tracing/tracer.ts";
import { matchOf } from "../http/access.ts";
import type { HttpEnv } from "../http/env.ts";
import { inTrace } from "./current-trace.ts";

/** Whoever is not let in could otherwise write into the traces of others, and fill the way to the collector. */
const NOT_LET_IN = [401, 403, 429];

/** As the API's description writes it: `/jobs/{id}`. */
const routeOf = (path: string): string => path.replace(/:(\w+)(\{[^}]*\})?/g, "{$1}");

/**
 * A span for each call of the API; it belongs to the caller's trace where the call names one. Calls of workers have none,
 * because there are many uploads, reports and heartbeats, and neither have probes and pages. A call that is not let in is
 * not told.
 */
export const tracedCalls = (tracer: Tracer): MiddlewareHandler<HttpEnv> =>
  async function tracedCall(c, next) {
    const match = matchOf(c);
    const access = match?.rules.access;
    if (!match || access === "worker" || access === "public") return next();
    const { method } = c.req;
    const route = routeOf(match.path);
    const span = tracer.start(`${method} ${route}`, {
      kind: "server",
      parent: parseTraceparent(c.req.header("traceparent")),
      attributes: { "http.request.method": method, "http.route": route },
    });
    try {
      await inTrace(span.context, next);
    } finally {
      const { status } = c.res;
      if (!NOT_LET_IN.includes(status)) {
        span.set({ "http.response.status_code": status });
        span.end(status >= 500 ? `answered ${status}` : null);
      }
    }
  };
