import postgres, { type Sql } from "postgres";

const CONNECT_TIMEOUT_S = 5;

/**
 * One connection to a Postgres database from beside the hub that uses it, for a look. Its caller ends it, and bounds
 * all of the look by `deadline_ms`.
 */
export const openLookClient = (url: string, deadline_ms: number): Sql =>
  postgres(url, {
    max: 1,
    connect_timeout: CONNECT_TIMEOUT_S,
    fetch_types: false,
    onnotice: () => {},
    connection: { application_name: "flotilla look", statement_timeout: deadline_ms },
  });
