import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import type { HubMode } from "#hub/platform/config.ts";
import type { Owner, TableRow } from "#hub/platform/http/access.ts";
import { type Attacked, startAttacked } from "#test/support/clients/attack-calls.ts";

/** Which hub answers a route, and what open pages read again after it: told by its path, or listed here with the reason. */

setDefaultTimeout(300_000);

let attacked: Attacked | undefined;
afterEach(async () => {
  await attacked?.hub.close();
  attacked = undefined;
});

/** Made and served from the object store, by any hub. */
const EXPORTED = /^\/sessions\/:sid\/recording\/(exports|video\.\w+)$/;
const OWNERS: readonly [RegExp, Owner | null][] = [
  [EXPORTED, null],
  [/^\/sessions?\/:sid(\/|$)/, "session"],
  [/^\/workers\/:worker_id\/link$/, "kept link"],
  [/^\/workers\/:worker_id\//, "worker"],
  // The list of a link's assets and their bodies are in the stores.
  [/^\/links\/:link\/assets/, null],
  [/^\/links\/:link(\/|$)/, "session"],
  [/^\/mcp$/, "mcp"],
  [/^\/jobs\/:id\/screenshot\/capture$/, "job"],
  [/^\/jobs\/:id\/recording(\/data|\/events)?$/, "job"],
];
const ownerOf = (path: string) => OWNERS.find(([which]) => which.test(path))?.[1] ?? null;

/** Calls that are no GET and change nothing that a page shows. */
const QUIET: Record<string, string> = {
  "POST /links": "a link is told to who made it alone",
  "DELETE /links": "no page lists links",
  "POST /screenshot": "its answer is the outcome",
  "POST /pdf": "its answer is the outcome",
  "POST /content": "its answer is the outcome",
  "POST /markdown": "its answer is the outcome",
  "POST /scrape": "its answer is the outcome",
  "POST /evaluate": "its answer is the outcome",
  "POST /workers/:worker_id/jobs/:job_id/direct-uploads": "its PUT stores the asset",
  "POST /jobs/:id/recording/exports": "the player asks for its export until it is made",
  "POST /sessions/:sid/recording/exports": "the player asks for its export until it is made",
  "PUT /workers/:worker_id/jobs/:job_id/recording": "the player follows the recording's own stream",
  "PUT /workers/:worker_id/sessions/:session_id/recording":
    "the player follows the recording's own stream",
  "PUT /workers/:worker_id/sessions/:session_id/trace": "the end of the session tells pages",
  "PUT /workers/:worker_id/sessions/:session_id/bodies": "the HAR names them once it is read",
  "POST /session/:sid/:command{[^]+}": "the session's page follows its worker",
  "DELETE /session/:sid/:command{[^]+}": "the session's page follows its worker",
  "POST /mcp": "each tool calls a route, which tells pages",
  "DELETE /mcp": "no page lists the sessions of agents",
  "POST /ui/login": "it is about this browser",
  "POST /ui/logout": "it is about this browser",
  "POST /api/v1/workloads/check": "its answer is the outcome",
  "POST /api/v1/workloads/:slug/tasks/status": "it reads",
  "POST /api/v1/workers/:id/config": "a worker reads its settings",
  "POST /api/v1/settings/llm/test": "its answer is the outcome",
};
/** What a call changes that is not what its path begins with. */
const ELSEWHERE: readonly [RegExp, string][] = [
  [/^PUT \/workers\/:worker_id\/jobs\//, "jobs"],
  [/^PUT \/workers\/:worker_id\/sessions\/:session_id\/profile\//, "profiles"],
  [/^\w+ \/links\/:link\/cdp\/json\//, "sessions"],
  [/^\w+ \/session(\/:sid)?$/, "sessions"],
  [/^POST \/api\/v1\/failures\//, "v1/workloads"],
  [/^POST \/api\/v1\/workers\/:id\/(exchange|claim|complete|fail|runs\/logs)$/, "v1/tasks"],
];
/** A GET changes something only here. */
const CHANGING_GETS: Record<string, string> = {
  "/*": "jobs",
  "/presets/:slug/*": "jobs",
  "/cdp": "sessions",
  "/cdp/": "sessions",
  "/sessions/:sid/cdp/json/activate/:target": "sessions",
  "/sessions/:sid/cdp/json/close/:target": "sessions",
  "/links/:link/cdp/json/activate/:target": "sessions",
  "/links/:link/cdp/json/close/:target": "sessions",
};

function topicOf({ method, path }: TableRow): string | null {
  if (method === "GET") return CHANGING_GETS[path] ?? null;
  const name = `${method} ${path}`;
  if (name in QUIET) return null;
  const elsewhere = ELSEWHERE.find(([which]) => which.test(name))?.[1];
  const [, first = "", second = "", third = ""] = path.split("/");
  return elsewhere ?? (first === "api" ? `${second}/${third}` : first);
}

for (const mode of ["hub", "dev", "control"] satisfies HubMode[])
  test(`every route of ${mode} mode is answered by the hub that can, and tells pages what it changed (rules/cluster#calls-are-passed-on)`, async () => {
    attacked = await startAttacked(mode);
    const { rows } = attacked;
    const told = rows.map(({ method, path, rules }) => ({
      route: `${method} ${path}`,
      owner: rules.owner ?? null,
    }));
    expect(told).toEqual(
      told.map(({ route }, i) => ({ route, owner: ownerOf(rows[i]?.path ?? "") })),
    );
    for (const row of rows) {
      const { changes = [] } = row.rules;
      const topic = topicOf(row);
      const route = `${row.method} ${row.path}`;
      if (topic === null) expect({ route, changes }).toEqual({ route, changes: [] });
      else expect({ route, changes }).toEqual({ route, changes: expect.arrayContaining([topic]) });
    }
    const names = rows.map(({ method, path }) => `${method} ${path}`);
    if (mode === "hub") for (const name of Object.keys(QUIET)) expect(names).toContain(name);
  });
