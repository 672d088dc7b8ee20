import type { Clock } from "#shared/kit/clock.ts";
import { abortAfter } from "#shared/kit/clock.ts";
import { chat } from "#shared/llm/chat.ts";
import { SESSION_ACTIONS } from "#shared/protocol/actions/session-actions.ts";
import type { AgentResult, AskResult } from "#shared/protocol/schema/page-agent.ts";
import type { HubFiles } from "#worker/hub-files.ts";
import { agent } from "../actions/agent.ts";
import { ask } from "../actions/ask.ts";
import type { ActionContext } from "../actions/context.ts";
import type { EngineCalls } from "../actions/engine-call.ts";
import { ActionFailure } from "../actions/failure.ts";
import { lookForStep } from "../actions/touched.ts";
import { type Engines, EngineUnknown } from "../llm/engines.ts";
import type { SessionLink } from "./link.ts";
import type { Live } from "./live.ts";

interface EngineDeps {
  clock: Clock;
  engines: Engines;
  /** Where the hub of a link is. */
  hubFiles(link: SessionLink): Pick<HubFiles, "base_url">;
}

interface EngineCall {
  args: Record<string, unknown>;
  timeout_ms: number;
  link: SessionLink;
}

type Acting = Omit<ActionContext, "signal">;

/** POST /sessions/{sid}/ask (rules/session-actions#ask). @throws ActionFailure */
export const askPage = (
  live: Live,
  call: EngineCall,
  deps: EngineDeps,
  acting: Acting,
): Promise<AskResult> =>
  whileWanted(live, call, deps, (signal) =>
    ask(
      { ...acting, signal },
      SESSION_ACTIONS.ask.args.parse(call.args),
      enginesOf(call.link, "ask", deps),
    ),
  );

/**
 * POST /sessions/{sid}/agent (rules/session-actions#agent); for a scripted job, each step is logged. @throws
 * ActionFailure
 */
export const runAgent = (
  live: Live,
  call: EngineCall,
  deps: EngineDeps,
  acting: Acting,
): Promise<AgentResult> =>
  whileWanted(live, call, deps, (signal) =>
    agent(
      {
        ...acting,
        signal,
        engines: enginesOf(call.link, "agent", deps),
        lookFor:
          live.recorders.size === 0 ? undefined : (selector) => lookForStep(live, { selector }),
        onStep: (line, { n, ok, url, ms, thought }, box) => {
          live.tell({
            type: "step",
            of: "agent",
            text: line,
            reason: thought ?? "",
            outcome: ok ? "done" : "failed",
            ...(box && { box }),
          });
          tellJob(live, call.link, deps.clock, line, { step: n, ok, url, ms });
        },
      },
      SESSION_ACTIONS.agent.args.parse(call.args),
    ),
  );

/** Aborts when the call's time is over or the session ends. */
async function whileWanted<T>(
  live: Live,
  { timeout_ms }: EngineCall,
  { clock }: EngineDeps,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const late = abortAfter(clock, timeout_ms, over.signal);
  try {
    return await work(AbortSignal.any([live.signal, late]));
  } finally {
    over.abort();
  }
}

const enginesOf = (
  link: SessionLink,
  purpose: "ask" | "agent",
  { engines, hubFiles, clock }: EngineDeps,
): EngineCalls => ({
  resolve: async (slug, signal) => {
    try {
      return await engines.resolve(await hubFiles(link).base_url, slug, purpose, signal);
    } catch (err) {
      if (!(err instanceof EngineUnknown)) throw err;
      throw new ActionFailure(err.kind, { name: err.name, message: err.message });
    }
  },
  chat: (engine, request, signal) => chat(engine, request, { clock, signal }),
});

const MAX_LINE = 1_000;

/** Writes a line to the log of the job whose script called the agent. */
function tellJob(
  { job_id, lease_token, script }: Live,
  link: SessionLink,
  clock: Clock,
  line: string,
  fields: Record<string, unknown>,
): void {
  if (job_id === null || script === null) return;
  const message = `agent ${line}`.slice(0, MAX_LINE).replaceAll("\0", "\ufffd").toWellFormed();
  const entry = { ts: clock.now(), level: "info", stage: "script", message, fields } as const;
  link.send({ type: "JobLog", job_id, lease_token, entries: [entry] });
}
