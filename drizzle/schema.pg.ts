import { pgKit } from "./kit.pg.ts";
import { defineTables } from "./tables.ts";

export const { jobs, assets, job_events, workers, settings, idempotency_keys, hosts, profiles } =
  defineTables(pgKit);
