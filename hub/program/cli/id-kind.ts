import { SESSION_ID } from "#shared/protocol/ids.ts";

const JOB_ID = /^[0-9a-z]{14}$/;
const RUN_ID = /^\d{1,12}$/;

/** What an id names, by its form (rules/clients#ids-of-commands); null for names such as that of a workload. */
export function kindOfId(id: string): "job" | "session" | "run" | null {
  if (JOB_ID.test(id)) return "job";
  if (SESSION_ID.test(id)) return "session";
  return RUN_ID.test(id) ? "run" : null;
}
