import type { z } from "@hono/zod-openapi";
import { INPUT_ACTIONS } from "./input.ts";
import { READING_ACTIONS } from "./reading.ts";
import { TAB_ACTIONS } from "./tabs.ts";
import { WHOLE_SESSION_ACTIONS } from "./whole-session.ts";

/**
 * Every POST /sessions/{sid}/<action> (rules/session-actions#the-actions): the one table behind routes, documentation,
 * scripts and clients. What an action does is in `worker/browser/actions/`.
 */
export const SESSION_ACTIONS = {
  ...INPUT_ACTIONS,
  ...READING_ACTIONS,
  ...TAB_ACTIONS,
  ...WHOLE_SESSION_ACTIONS,
} as const;
export type SessionActionName = keyof typeof SESSION_ACTIONS;
type Schema<A extends SessionActionName> = (typeof SESSION_ACTIONS)[A]["args"];
export type SessionActionArgs<A extends SessionActionName> = z.infer<Schema<A>>;
export type SessionActionInput<A extends SessionActionName> = z.input<Schema<A>>;
/** What it answers as `result`. */
export type SessionActionResult<A extends SessionActionName> = z.infer<
  (typeof SESSION_ACTIONS)[A]["result"]
>;

export const SESSION_ACTION_NAMES = Object.keys(SESSION_ACTIONS) as SessionActionName[];
export const isSessionAction = (name: string): name is SessionActionName =>
  Object.hasOwn(SESSION_ACTIONS, name);
