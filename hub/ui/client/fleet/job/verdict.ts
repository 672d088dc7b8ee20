import type { AttemptSummary } from "#shared/protocol/schema/attempt.ts";

type Class = NonNullable<AttemptSummary["verdict"]>["class"];

const TITLES: Record<Class, string> = {
  success: "success",
  bad_script: "refused script",
  script_error: "script error",
  wrong_result: "wrong result",
  unverified: "not verified",
  timeout: "too slow",
  credentials_missing: "login needed",
  capacity: "no capacity",
  engine_error: "engine error",
  lane_lost: "browser lost",
  sandbox: "sandbox ended it",
  cancelled: "cancelled",
};
const COLORS: Partial<Record<Class, string>> = {
  success: "teal",
  unverified: "yellow",
  timeout: "orange",
  capacity: "orange",
  cancelled: "gray",
};

/** The outcome of an attempt, in a word or two. */
export function verdictOf({ state, verdict }: Pick<AttemptSummary, "state" | "verdict">) {
  if (state === "running") return { title: "running", color: "blue" };
  if (!verdict) return { title: "no verdict", color: "gray" };
  return { title: TITLES[verdict.class], color: COLORS[verdict.class] ?? "red" };
}
