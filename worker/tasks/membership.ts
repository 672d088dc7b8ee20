import type { Log } from "#shared/kit/log.ts";
import { isRefusal } from "./control-call.ts";
import type { Joining } from "./joining.ts";
import type { Retry } from "./retry.ts";

export interface MembershipDeps {
  joining: Joining;
  hello: Parameters<Joining["register"]>[0];
  retry: Retry;
  log: Log;
  /** Called every time the control plane has registered this worker. */
  onJoined(): void;
}

/** Whether the control plane knows this worker, and what it answered when the worker registered. */
export interface Membership {
  /** Registers unless that is done or under way. */
  register(): Promise<void>;
  /** Another process has this name, or the control plane has forgotten us: the next call registers again. */
  noticeRefusal(err: unknown): void;
  /** Calls as a registered worker, again and again until it is answered or no longer needed. */
  persist<T>(what: string, call: () => Promise<T>): Promise<T>;
  /** What this control plane accepts beyond the first version of its calls (PULL_FEATURES). */
  accepts(feature: string): boolean;
  /** Ms between two heartbeats of an idle worker. */
  heartbeatMs(): number;
}

export function createMembership(deps: MembershipDeps): Membership {
  const { joining, hello, retry, log } = deps;
  let accepts: readonly string[] = [];
  let heartbeat_ms = 5_000;
  let registered: Promise<void> | null = null;

  const join = async (): Promise<void> => {
    const answer = await joining.register(hello);
    heartbeat_ms = answer.heartbeat_ms;
    accepts = answer.accepts;
    const { worker_id } = answer;
    log.info({ worker_id, slots: hello.slots }, "joined the control plane");
    deps.onJoined();
  };
  const register = (): Promise<void> => {
    const { refusedFor } = joining;
    registered ??= retry("joining the control plane", join, { refusedFor }).catch((err) => {
      registered = null;
      throw err;
    });
    return registered;
  };
  const noticeRefusal = (err: unknown) => {
    // An older control plane may refuse what another one accepted; registering shows what it accepts.
    if (isRefusal(err) && (err.status === 409 || err.status === 422)) registered = null;
  };
  return {
    register,
    noticeRefusal,
    persist: (what, call) => retry(what, () => register().then(call), { onFailure: noticeRefusal }),
    accepts: (feature) => accepts.includes(feature),
    heartbeatMs: () => heartbeat_ms,
  };
}
