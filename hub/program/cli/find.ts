import { FlotillaError } from "#shared/client/index.ts";
import type { SearchHit, SearchResult } from "#shared/protocol/schema/search.ts";
import { EXIT } from "./exit.ts";
import { asTyped } from "./hub-client.ts";
import type { ListDeps } from "./list-commands.ts";
import { type Terminal, tableFor } from "./print.ts";

const KIND_WORDS: Partial<Record<SearchHit["kind"], string>> = {
  pull_worker: "pull worker",
  agent: "host agent",
};

const NOTHING: SearchResult = { q: "", hits: [], incomplete: [] };

const table = (hits: SearchHit[], terminal: Terminal): string =>
  tableFor(
    terminal,
    [
      { title: "kind" },
      { title: "id", shrink: 14 },
      { title: "state", state: true },
      { title: "title", shrink: 16 },
      { title: "detail", shrink: 16 },
    ],
    hits.map(({ kind, id, state, title, detail }) => [
      KIND_WORDS[kind] ?? kind,
      id,
      state ?? "",
      title,
      detail,
    ]),
  );

/**
 * `flotilla find`: what the fleet and the pipeline found, each best first. A control plane has no fleet to search.
 * @returns the exit code: 1 when nothing was found.
 */
export async function runFindCommand(
  { client, terminal }: ListDeps,
  words: readonly string[],
  limit: string | undefined,
  json: boolean,
): Promise<number> {
  const q = words.join(" ");
  const query = asTyped({ q, limit });
  const noFleet = (err: unknown): SearchResult => {
    if (err instanceof FlotillaError && err.status === 404) return NOTHING;
    throw err;
  };
  const [fleet, pipeline] = await Promise.all([
    client.call("GET /search", { query }).catch(noFleet),
    client.call("GET /api/v1/search", { query }),
  ]);
  const hits = [...fleet.hits, ...pipeline.hits];
  const incomplete = [...fleet.incomplete, ...pipeline.incomplete];
  if (json) terminal.out(`${JSON.stringify({ q, hits, incomplete }, null, 2)}\n`);
  else terminal.out(`${hits.length === 0 ? "nothing was found" : table(hits, terminal)}\n`);
  if (incomplete.length > 0 && !json)
    terminal.err(`flotilla: could not be searched in time: ${incomplete.join(", ")}\n`);
  return hits.length === 0 ? EXIT.failed : EXIT.ok;
}
