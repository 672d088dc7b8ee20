import type { z } from "zod";
import type { CheckAnswer } from "#shared/protocol/schema/executor.ts";
import {
  type AttemptRef,
  Exchanged,
  PullHeartbeatAnswer,
  RegisteredPull,
  type RegisterPull,
} from "#shared/protocol/schema/pull.ts";
import type { LiveRun } from "#shared/protocol/schema/pull-daemon.ts";
import { type ControlCallDeps, createControlCall } from "./control-call.ts";

export type Ref = z.infer<typeof AttemptRef>;
type ExchangeAnswer = z.infer<typeof Exchanged>;

export interface ControlClient {
  register(hello: Omit<RegisterPull, "incarnation">): Promise<z.infer<typeof RegisteredPull>>;
  heartbeat(body: Record<string, unknown>): Promise<z.infer<typeof PullHeartbeatAnswer>>;
  /** `wait_ms` of a claim is added to the call's own deadline. */
  exchange(body: Record<string, unknown>, wait_ms: number): Promise<ExchangeAnswer>;
  /** What runs now; replaces the previous report. */
  tellLiveRuns(items: LiveRun[]): Promise<void>;
  /** What was found when a workload's code was loaded. */
  answerCheck(found: CheckAnswer): Promise<void>;
  /** `leaving`: the process ends now and has reported everything. */
  drain(leaving?: boolean): Promise<void>;
}

export interface ControlClientDeps extends ControlCallDeps {
  worker_id: string;
  incarnation: string;
}

/** The calls of a pull worker (rules/pipeline-pull#what-a-worker-must-do). @throws ControlRefused, or what the network threw. */
export function createControlClient(deps: ControlClientDeps): ControlClient {
  const { incarnation, worker_id } = deps;
  const post = createControlCall(deps);
  const call = (name: string, body: object, wait_ms = 0): Promise<unknown> =>
    post(`/workers/${encodeURIComponent(worker_id)}/${name}`, { incarnation, ...body }, wait_ms);
  return {
    register: async (hello) => RegisteredPull.parse(await call("register", hello)),
    heartbeat: async (body) => PullHeartbeatAnswer.parse(await call("heartbeat", body)),
    exchange: async (body, wait_ms) => Exchanged.parse(await call("exchange", body, wait_ms)),
    tellLiveRuns: async (items) => void (await call("runs/logs", { items })),
    answerCheck: async (found) => void (await call("checks", found)),
    drain: async (leaving) => void (await call("drain", leaving ? { leaving } : {})),
  };
}
