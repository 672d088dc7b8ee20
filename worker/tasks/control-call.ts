import { type Clock, DeadlineError } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { fetchHub } from "#shared/protocol/trust.ts";

/** The control plane answered, and the answer was no. */
export class ControlRefused extends Error {
  readonly status: number;
  constructor(status: number, detail: string) {
    super(detail);
    this.name = "ControlRefused";
    this.status = status;
  }
}

export interface ControlCallDeps {
  control_url: string;
  secret: string | null;
  api_token: string | null;
  clock: Clock;
  /** Ends every call. */
  signal: AbortSignal;
}

/**
 * POSTs `body` to a path below /api/v1 and returns the parsed answer. `wait_ms` is added to the call's own deadline.
 */
export type ControlCall = (path: string, body: object, wait_ms?: number) => Promise<unknown>;

const CALL_MS = 15_000;

/** What proves to the control plane that a call comes from its worker. */
export const controlHeaders = ({
  secret,
  api_token,
}: Pick<ControlCallDeps, "secret" | "api_token">): Record<string, string> => ({
  ...(secret === null ? {} : { "x-worker-secret": secret }),
  ...(api_token === null ? {} : { authorization: `Bearer ${api_token}` }),
});

/** How a worker or an agent speaks to the control plane. Calls throw ControlRefused, or what the network threw. */
export function createControlCall(deps: ControlCallDeps): ControlCall {
  const base = `${deps.control_url.replace(/\/+$/, "")}/api/v1`;
  const headers = { "content-type": "application/json", ...controlHeaders(deps) };
  return async (path, body, wait_ms = 0) => {
    const over = new AbortController();
    const stop = () => over.abort(deps.signal.reason);
    deps.signal.addEventListener("abort", stop, { once: true });
    const met = new AbortController();
    const limit = CALL_MS + wait_ms;
    void deps.clock.sleep(limit, met.signal).then(() => {
      if (!met.signal.aborted) over.abort(new DeadlineError(path, limit));
    });
    try {
      const response = await fetchHub(`${base}${path}`, {
        method: "POST",
        headers,
        body: JSON.stringify(body),
        redirect: "manual",
        signal: over.signal,
      });
      const text = await response.text();
      if (response.ok) return JSON.parse(text);
      throw new ControlRefused(response.status, detailOf(text, response.status));
    } finally {
      met.abort();
      deps.signal.removeEventListener("abort", stop);
    }
  };
}

function detailOf(text: string, status: number): string {
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown };
    return typeof detail === "string" ? detail : JSON.stringify(detail).slice(0, 500);
  } catch (err) {
    return `HTTP ${status}: ${text.slice(0, 200) || errorMessage(err)}`;
  }
}
