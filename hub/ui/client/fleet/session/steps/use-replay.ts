import { useRef, useState } from "react";
import type { Session } from "#shared/protocol/schema/session.ts";
import { asWritten, call } from "../../../lib/http.ts";
import { errorText } from "../../../lib/query.ts";
import { act } from "../act.ts";
import type { ChosenStep } from "../recorded/chosen.ts";
import { runOneStep, runSteps, type StepCalls, type StepResult } from "./run-steps.ts";

const STEP_S = 15;
const GRACE_MS = 10_000;
/** Between two looks for a tab that a page opens. */
const LOOK_MS = 250;
const short = (text: string): string => text.replace(/^recipe failed at step \d+\/\d+ /, "");

type SessionCalls = Pick<StepCalls, "run" | "tabs" | "select" | "wait" | "errorText">;

const callsOf = (session: Pick<Session, "session_id">): SessionCalls => ({
  run: async (action) => {
    const { ms } = await call("POST /sessions/{sid}/recipe", {
      params: { sid: session.session_id },
      json: { actions: [asWritten(action)], timeout_s: STEP_S },
      timeout_ms: STEP_S * 1_000 + GRACE_MS,
    });
    return ms;
  },
  tabs: () => act(session, "tabs", {}),
  select: (index) => act(session, "tab", { op: "select", index }),
  wait: () => new Promise((resolve) => setTimeout(resolve, LOOK_MS)),
  errorText: (err) => short(errorText(err)),
});

/** Repeats steps in the session itself, one call each, until one fails. */
export function useReplay(session: Pick<Session, "session_id">) {
  const [results, setResults] = useState<Record<number, StepResult>>({});
  const [busy, setBusy] = useState(false);
  const stop = useRef(false);
  const calls: StepCalls = {
    ...callsOf(session),
    tell: (step, result) => setResults((all) => ({ ...all, [step.id]: result })),
    isStopped: () => stop.current,
  };
  const whileBusy = async (work: () => Promise<unknown>) => {
    if (busy) return;
    setBusy(true);
    stop.current = false;
    try {
      await work();
    } finally {
      setBusy(false);
    }
  };
  return {
    busy,
    resultOf: (step: ChosenStep): StepResult | null => results[step.id] ?? null,
    runAll: (steps: readonly ChosenStep[]) =>
      whileBusy(() => {
        setResults({});
        return runSteps(steps, calls);
      }),
    runOne: (step: ChosenStep, first_tab: number) =>
      whileBusy(() => runOneStep(step, first_tab, calls)),
    stop: () => {
      stop.current = true;
    },
  };
}
