import { expect } from "bun:test";
import { WORKER_LOST_ERROR } from "#shared/protocol/limits.ts";

/** Fleet spec §3.1's words, and what happened, to which worker or hub, since when. */
export const LOST = expect.stringMatching(
  new RegExp(`^${WORKER_LOST_ERROR}: .*(worker |hub ).*\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z`),
);
