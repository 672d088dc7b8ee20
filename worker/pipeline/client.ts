import type { z } from "zod";
import { type Clock, DeadlineError } from "#shared/clock.ts";
import { errorMessage } from "#shared/errors.ts";
import {
  type AttemptRef,
  Exchanged,
  PullHeartbeatAnswer,
  RegisteredPull,
  type RegisterPull,
} from "#shared/schema/pull.ts";

export type Ref = z.infer<typeof AttemptRef>;
export type ExchangeAnswer = z.infer<typeof Exchanged>;

/** The control plane answered, and the answer was no. */
export class ControlRefused extends Error {
  readonly status: number;
  constructor(status: number, detail: string) {
    super(detail);
    this.name = "ControlRefused";
    this.status = status;
  }
}

export interface ControlClient {
  register(hello: Omit<RegisterPull, "incarnation">): Promise<z.infer<typeof RegisteredPull>>;
  heartbeat(body: Record<string, unknown>): Promise<z.infer<typeof PullHeartbeatAnswer>>;
  /** `wait_ms` of a claim is added to the call's own deadline. */
  exchange(body: Record<string, unknown>, wait_ms: number): Promise<ExchangeAnswer>;
  drain(): Promise<void>;
}

export interface ControlClientDeps {
  control_url: string;
  worker_id: string;
  incarnation: string;
  secret: string | null;
  api_token: string | null;
  clock: Clock;
  signal: AbortSignal;
}

const CALL_MS = 15_000;

/** The daemon calls of a pull worker (design/api.md, Workers). @throws ControlRefused, or what the network threw. */
export function createControlClient(deps: ControlClientDeps): ControlClient {
  const base = `${deps.control_url.replace(/\/+$/, "")}/api/v1/workers/${encodeURIComponent(deps.worker_id)}`;
  const headers = {
    "content-type": "application/json",
    ...(deps.secret === null ? {} : { "x-worker-secret": deps.secret }),
    ...(deps.api_token === null ? {} : { authorization: `Bearer ${deps.api_token}` }),
  };
  const call = async (name: string, body: object, wait_ms = 0): Promise<unknown> => {
    const over = new AbortController();
    const stop = () => over.abort(deps.signal.reason);
    deps.signal.addEventListener("abort", stop, { once: true });
    const met = new AbortController();
    const limit = CALL_MS + wait_ms;
    void deps.clock.sleep(limit, met.signal).then(() => {
      if (!met.signal.aborted) over.abort(new DeadlineError(name, limit));
    });
    try {
      const response = await fetch(`${base}/${name}`, {
        method: "POST",
        headers,
        body: JSON.stringify({ incarnation: deps.incarnation, ...body }),
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
  return {
    register: async (hello) => RegisteredPull.parse(await call("register", hello)),
    heartbeat: async (body) => PullHeartbeatAnswer.parse(await call("heartbeat", body)),
    exchange: async (body, wait_ms) => Exchanged.parse(await call("exchange", body, wait_ms)),
    drain: async () => void (await call("drain", {})),
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
