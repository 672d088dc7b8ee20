import { type Look, lookOf } from "./look.ts";

/** How an attempt of a task ended, or that it runs: `success`, `error`, `timeout`, `lease_expired`, … */
export const runLook = (outcome: string): Look => lookOf(outcome);
