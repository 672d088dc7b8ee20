import type { Attempt, AttemptSummary } from "#shared/protocol/schema/attempt.ts";
import type { Job, JobEvent } from "#shared/protocol/schema/job.ts";
import {
  type LlmRequest,
  type LlmServer,
  type LlmTurn,
  startLlmServer,
} from "../servers/llm-server.ts";
import { type FleetOptions, type FleetProcesses, startFleet } from "./fleet-process.ts";

/** A fleet with real browsers and sandboxes, and an engine that does what each job's scenario says. */
export interface CodegenRig {
  fleet: FleetProcesses;
  llm: LlmServer;
  call(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Submits a codegen-loop job whose engine answers as `scenario` says. */
  submit(url: string, scenario: Scenario, options?: Record<string, unknown>): Promise<string>;
  /** What became of the job, with everything it tells. */
  outcome(job_id: string): Promise<Outcome>;
  /** Requests of the engine about this job. */
  requests(goal: string): LlmRequest[];
  /** The n-th request about this goal, as soon as it is there. */
  asked(goal: string, n: number): Promise<LlmRequest>;
  stop(): Promise<unknown>;
}

interface Scenario {
  /** Unique among the scenarios of a rig: requests are told apart by it. */
  goal: string;
  /** Answers to requests for a script, in order; the last one again when there are no more. */
  plan: LlmTurn[];
  judge?: LlmTurn[];
}

interface Outcome {
  job: Job;
  attempts: AttemptSummary[];
  events: JobEvent[];
  /** Stages in the order in which they were first told. */
  stages: string[];
  attempt(n: number): Promise<Attempt>;
}

interface Answer {
  status: number;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  body: any;
}

export const says = (text: string, more: object = {}): LlmTurn => ({
  kind: "answer",
  text,
  ...more,
});
export const script = (code: string): LlmTurn => says(`Here it is:\n\`\`\`ts\n${code}\n\`\`\``);
export const verdict = (
  cls: "success" | "wrong_result" | "script_error" | "credentials_missing",
  advice = "",
): LlmTurn =>
  says(JSON.stringify({ ok: cls === "success", reason: `judged ${cls}`, advice, class: cls }));

export async function startCodegenRig(options: FleetOptions = {}): Promise<CodegenRig> {
  const scenarios = new Map<string, { plan: LlmTurn[]; judge: LlmTurn[] }>();
  const waiting: { goal: string; n: number; found(request: LlmRequest): void }[] = [];
  const about = (goal: string) =>
    llm.requests.filter(({ body }) => JSON.stringify(body).includes(goal));
  const llm = await startLlmServer({
    handler: (request) => {
      const text = JSON.stringify(request.body);
      const [goal, turns] = [...scenarios].find(([name]) => text.includes(name)) ?? [];
      const left = text.includes("You judge whether") ? turns?.judge : turns?.plan;
      const turn = left && left.length > 1 ? left.shift() : left?.[0];
      for (const { goal: wanted, n, found } of waiting)
        if (wanted === goal && about(wanted).length >= n) found(request);
      return turn ?? { kind: "status", status: 500, body: { error: "not in the scenario" } };
    },
  });
  const fleet = await startFleet({
    headless: true,
    ...options,
    env: { SVC_DRAIN_TIMEOUT_S: "1", ...options.env },
  });
  const call = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const answer = await fetch(fleet.url + path, {
      method,
      signal: AbortSignal.timeout(60_000),
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    const text = await answer.text();
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch {
      parsed = undefined;
    }
    return { status: answer.status, text, body: parsed };
  };
  await fleet.lanesWarm();
  const engine = { endpoint: llm.url, model: "test", use_for_codegen: true, timeout_s: 120 };
  const put = await call("PUT", "/engines/local", engine);
  if (put.status >= 300) throw new Error(`engine not stored: ${put.text}`);
  const events = (job_id: string): Promise<JobEvent[]> =>
    new Promise((resolve, reject) => {
      const all: JobEvent[] = [];
      const url = `${fleet.url.replace(/^http/, "ws")}/jobs/${job_id}/events?since=0`;
      const socket = new WebSocket(url);
      socket.onmessage = ({ data }) => all.push(JSON.parse(String(data)));
      socket.onclose = () => resolve(all);
      socket.onerror = () => reject(new Error(`no events of ${job_id}`));
    });
  return {
    fleet,
    llm,
    call,
    requests: about,
    asked: (goal, n) =>
      new Promise((found) => {
        const known = about(goal);
        if (known.length >= n) found(known[n - 1] as LlmRequest);
        else waiting.push({ goal, n, found });
      }),
    submit: async (url, { goal, plan, judge = [] }, more = {}) => {
      scenarios.set(goal, { plan: [...plan], judge: [...judge] });
      const answer = await call("POST", "/jobs", {
        url,
        options: { mode: "codegen-loop", goal, ...more },
      });
      if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
      return answer.body.job_id;
    },
    outcome: async (job_id) => {
      const told = await events(job_id);
      const stages = told.flatMap(({ type, data }) => (type === "log" ? [String(data.stage)] : []));
      return {
        job: (await call("GET", `/jobs/${job_id}`)).body,
        attempts: (await call("GET", `/jobs/${job_id}/attempts`)).body.attempts,
        events: told,
        stages: [...new Set(stages)],
        attempt: async (n) => (await call("GET", `/jobs/${job_id}/attempts/${n}`)).body,
      };
    },
    stop: async () => {
      const left = await fleet.stop();
      await llm.stop();
      return left;
    },
  };
}
