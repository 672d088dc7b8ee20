import type { z } from "zod";
import type { Operations } from "#shared/client/operations.gen.ts";
import type { CheckAnswer } from "#shared/protocol/schema/executor.ts";
import {
  type AttemptRef,
  Exchanged,
  PullHeartbeatAnswer,
  RegisteredPull,
  type RegisterPull,
} from "#shared/protocol/schema/pull.ts";
import type { LiveRun } from "#shared/protocol/schema/pull-daemon.ts";
import { type ControlCallDeps, type ControlOperation, createControlCall } from "./control-call.ts";

export type Ref = z.infer<typeof AttemptRef>;
type WorkerOperation = Extract<ControlOperation, `POST /api/v1/workers/{id}/${string}`>;
type NameOf<K> = K extends `POST /api/v1/workers/{id}/${infer N}` ? N : never;
type WorkerCall = NameOf<WorkerOperation>;
/** What a call says besides who it comes from. */
type Said<N extends WorkerCall> = Operations[`POST /api/v1/workers/{id}/${N}`] extends {
  json: infer J;
}
  ? Omit<J, "incarnation">
  : never;
/** As the outbox keeps them, where reports of every kind wait in one line. */
type Reports = { [K in "done" | "failed" | "released"]?: { task_id: number; epoch: number }[] };
type ExchangeAnswer = z.infer<typeof Exchanged>;

export interface ControlClient {
  register(hello: Omit<RegisterPull, "incarnation">): Promise<z.infer<typeof RegisteredPull>>;
  heartbeat(body: Said<"heartbeat">): Promise<z.infer<typeof PullHeartbeatAnswer>>;
  /** `wait_ms` of a claim is added to the call's own deadline. */
  exchange(
    body: Reports & Pick<Said<"exchange">, "want">,
    wait_ms: number,
  ): Promise<ExchangeAnswer>;
  /** What runs now; replaces the previous report. */
  tellLiveRuns(items: LiveRun[]): Promise<void>;
  /** The result of loading a workload's code. */
  answerCheck(found: CheckAnswer): Promise<void>;
  /** `leaving`: the process ends now and has reported everything. */
  drain(leaving?: boolean): Promise<void>;
}

export interface ControlClientDeps extends ControlCallDeps {
  worker_id: string;
  incarnation: string;
}

/** The calls of a pull worker (rules/pipeline-pull#what-a-worker-must-do). @throws FlotillaError */
export function createControlClient(deps: ControlClientDeps): ControlClient {
  const { incarnation, worker_id } = deps;
  const post = createControlCall(deps);
  const call = <N extends WorkerCall>(name: N, body: Said<N>, wait_ms = 0) => {
    const operation = `POST /api/v1/workers/{id}/${name}` as const;
    const given = { params: { id: worker_id }, json: { incarnation, ...body } };
    return post<WorkerOperation>(operation, given as never, wait_ms);
  };
  return {
    register: async (hello) => RegisteredPull.parse(await call("register", hello)),
    heartbeat: async (body) => PullHeartbeatAnswer.parse(await call("heartbeat", body)),
    exchange: async (body, wait_ms) =>
      Exchanged.parse(await call("exchange", body as Said<"exchange">, wait_ms)),
    tellLiveRuns: async (items) => void (await call("runs/logs", { items })),
    answerCheck: async (found) => void (await call("checks", found)),
    drain: async (leaving) => void (await call("drain", leaving ? { leaving } : {})),
  };
}
