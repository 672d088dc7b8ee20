import { FlotillaError } from "#shared/client/errors.ts";
import { createHttp, type Http } from "#shared/client/http.ts";
import type { AnswerOf, GivenTo, JsonOperation } from "#shared/client/operation.ts";
import type { Clock } from "#shared/kit/clock.ts";
import { authorityOption } from "#shared/protocol/trust.ts";

export interface ControlCallDeps {
  control_url: string;
  secret: string | null;
  api_token: string | null;
  clock: Clock;
  /** Ends every call. */
  signal: AbortSignal;
}

/** What a worker or an agent tells the control plane. */
export type ControlOperation = Extract<JsonOperation, `POST /api/v1/${string}`>;

/** Calls the control plane. `wait_ms` is added to the call's own deadline. @throws FlotillaError */
export type ControlCall = <K extends ControlOperation>(
  operation: K,
  given: GivenTo<K>,
  wait_ms?: number,
) => Promise<AnswerOf<K>>;

const CALL_MS = 15_000;

/** Whether the control plane answered, and the answer was no. */
export const isRefusal = (err: unknown): err is FlotillaError =>
  err instanceof FlotillaError && err.status >= 300;

/** What proves to the control plane that a call comes from its worker. */
export const controlHeaders = ({
  secret,
  api_token,
}: Pick<ControlCallDeps, "secret" | "api_token">): Record<string, string> => ({
  ...(secret === null ? {} : { "x-worker-secret": secret }),
  ...(api_token === null ? {} : { authorization: `Bearer ${api_token}` }),
});

/** How a worker or an agent speaks to the control plane. */
export const controlHttp = (deps: Omit<ControlCallDeps, "signal">): Http =>
  createHttp({
    base_url: deps.control_url,
    headers: controlHeaders(deps),
    clock: deps.clock,
    timeout_ms: CALL_MS,
    ...authorityOption(),
  });

export function createControlCall(deps: ControlCallDeps): ControlCall {
  const http = controlHttp(deps);
  const { signal } = deps;
  return <K extends ControlOperation>(operation: K, given: GivenTo<K>, wait_ms = 0) => {
    const call = { ...given, signal, timeout_ms: CALL_MS + wait_ms };
    // Which operation it is stays open here, and with it what it takes.
    return http.call(operation, ...([call] as never));
  };
}
