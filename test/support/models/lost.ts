import { expect } from "bun:test";
import { WORKER_LOST_ERROR } from "#shared/protocol/limits.ts";

/**
 * The words for a job whose worker went away (rules/jobs#lost-workers), and what happened, to which worker or hub, since
 * when.
 */
export const LOST = expect.stringMatching(
  new RegExp(`^${WORKER_LOST_ERROR}: .*(worker |hub ).*\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z`),
);
