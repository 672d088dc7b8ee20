import type { StepKind } from "./schema/recorded-input.ts";

/** Kinds of steps by which a page opens a tab. Apart from the schemas, which the app in the browser does without. */
export const OPENING_KINDS: ReadonlySet<StepKind> = new Set([
  "click",
  "press",
  "select_option",
  "check",
  "uncheck",
] as const);
