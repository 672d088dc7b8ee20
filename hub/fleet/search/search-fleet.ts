import type { JobRow, PastSessionRow } from "#hub/platform/db/rows.ts";
import type { NamedRow, NamedTable } from "#hub/platform/db/search-types.ts";
import { askSources, type Source } from "#hub/platform/search/ask-sources.ts";
import { isoTime, isoTimeOrNull } from "#shared/kit/clock.ts";
import type {
  HitKind,
  SearchHit,
  SearchQuery,
  SearchResult,
} from "#shared/protocol/schema/search.ts";
import type { FleetContext } from "../context.ts";

const MAX_TEXT = 200;

const jobHit = (row: JobRow): SearchHit => ({
  kind: "job",
  id: row.job_id,
  title: (row.title || row.url).slice(0, MAX_TEXT),
  detail: (row.error ?? row.url).slice(0, MAX_TEXT),
  state: row.status,
  at: isoTime(row.created_at),
  href: `/jobs/${row.job_id}`,
  workload: null,
});

const sessionHit = (row: PastSessionRow): SearchHit => ({
  kind: "session",
  id: row.session_id,
  title: (row.title || row.url).slice(0, MAX_TEXT),
  detail: (row.opened_by === null ? row.url : `${row.url}, opened by ${row.opened_by}`).slice(
    0,
    2 * MAX_TEXT,
  ),
  state: row.ended_at === null ? "open" : "ended",
  at: isoTime(row.created_at),
  href: `/sessions/${row.session_id}`,
  workload: null,
});

const namedHit =
  (kind: HitKind, path: string) =>
  ({ id, title, detail, state, at }: NamedRow): SearchHit => ({
    kind,
    id,
    title,
    detail,
    state,
    workload: null,
    at: isoTimeOrNull(at),
    href: `${path}/${encodeURIComponent(id)}`,
  });

/** Only a text that can be one is looked for among ids. */
const isId = (q: string): boolean => /^[0-9a-z]{3,64}$/.test(q);

/** Everything of the fleet that a few words may mean (rules/search#what-is-searched). */
function sourcesOf({
  db: { jobs, search },
}: Pick<FleetContext, "db">): Partial<Record<HitKind, Source>> {
  const named =
    (kind: HitKind, table: NamedTable, path: string): Source =>
    async (q, limit) =>
      (await search.named(table, q, limit)).map(namedHit(kind, path));
  return {
    job: async (q, limit) => {
      const byId = isId(q) ? await search.jobsById(q, limit) : [];
      return [...byId, ...(await jobs.list({ words: q, limit }, null))].map(jobHit);
    },
    session: async (q, limit) => (await search.sessions(q, limit)).map(sessionHit),
    worker: named("worker", "workers", "/workers"),
    host: named("host", "hosts", "/hosts"),
    profile: named("profile", "profiles", "/profiles"),
    watch: named("watch", "watches", "/watches"),
    preset: named("preset", "presets", "/presets"),
    skill: named("skill", "skills", "/skills"),
    engine: named("engine", "engines", "/engines"),
  };
}

/** GET /search. */
export const searchFleet = (
  ctx: Pick<FleetContext, "clock" | "db" | "log">,
  query: SearchQuery,
): Promise<SearchResult> => askSources(ctx, sourcesOf(ctx), query);
