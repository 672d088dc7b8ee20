import { until } from "../rigs/fleet-process.ts";

/** Calls of a hub whose database or store fails under it; `url` is read at each call, for it may start again elsewhere. */
export function hubCalls(url: () => string, step_ms: number) {
  const call = async (method: string, path: string, body?: unknown) => {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(url() + path, {
      method,
      ...(body === undefined ? {} : { headers, body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: answers of many routes
    return { status: answer.status, body: (await answer.json()) as any };
  };
  /** Waits until /health names exactly these parts as degraded. */
  const health = (degraded: object[]) =>
    until(`a health that tells ${JSON.stringify(degraded)}`, step_ms, async () => {
      const { status, body } = await call("GET", "/health");
      return status === 200 && Bun.deepEquals(body.degraded, degraded) ? body : null;
    });
  return { call, health };
}
