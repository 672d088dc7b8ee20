import { useRef, useState } from "react";
import { asWritten, call } from "../../../lib/http.ts";
import { errorText } from "../../../lib/query.ts";
import type { ChosenStep } from "../recorded/chosen.ts";
import { recipeAction } from "../recorded/to-recipe.ts";

/** What repeating a step gave. */
export interface StepResult {
  state: "running" | "ok" | "failed" | "skipped";
  ms: number | null;
  error: string | null;
}

const STEP_S = 15;
const GRACE_MS = 10_000;
const short = (text: string): string => text.replace(/^recipe failed at step \d+\/\d+ /, "");

/** Repeats steps in the session itself, one call each, until one fails. */
export function useReplay(sid: string) {
  const [results, setResults] = useState<Record<number, StepResult>>({});
  const [busy, setBusy] = useState(false);
  const stop = useRef(false);
  const tell = (step: ChosenStep, result: StepResult) =>
    setResults((all) => ({ ...all, [step.id]: result }));
  const runOne = async (step: ChosenStep): Promise<boolean> => {
    const action = recipeAction(step);
    if (typeof action === "string") {
      tell(step, { state: "skipped", ms: null, error: action });
      return true;
    }
    tell(step, { state: "running", ms: null, error: null });
    try {
      const { ms } = await call("POST /sessions/{sid}/recipe", {
        params: { sid },
        json: { actions: [asWritten(action)], timeout_s: STEP_S },
        timeout_ms: STEP_S * 1_000 + GRACE_MS,
      });
      tell(step, { state: "ok", ms, error: null });
      return true;
    } catch (err) {
      tell(step, { state: "failed", ms: null, error: short(errorText(err)) });
      return false;
    }
  };
  return {
    busy,
    resultOf: (step: ChosenStep): StepResult | null => results[step.id] ?? null,
    run: async (steps: readonly ChosenStep[]) => {
      if (busy) return;
      setBusy(true);
      stop.current = false;
      if (steps.length > 1) setResults({});
      try {
        for (const step of steps) if (stop.current || !(await runOne(step))) break;
      } finally {
        setBusy(false);
      }
    },
    stop: () => {
      stop.current = true;
    },
  };
}
