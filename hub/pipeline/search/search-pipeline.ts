import { RUN_OUTCOMES } from "#drizzle/tables/runs.ts";
import type { FoundRun, FoundTask } from "#hub/platform/db/search-types.ts";
import { askSources, type Source } from "#hub/platform/search/ask-sources.ts";
import { isoTime, isoTimeOrNull } from "#shared/kit/clock.ts";
import { type LabelFilter, readLabelFilter } from "#shared/protocol/label-text.ts";
import type {
  HitKind,
  SearchHit,
  SearchQuery,
  SearchResult,
} from "#shared/protocol/schema/search.ts";
import type { PipelineContext } from "../context.ts";
import { isLive } from "../pull/is-live.ts";
import { stateName } from "../tasks/queue.ts";

const MAX_TEXT = 200;
const API = "/api/v1";

const lastLine = (error: string | null): string =>
  (error ?? "").trim().split("\n").at(-1)?.slice(0, MAX_TEXT) ?? "";

const taskHit = ({ slug, pk, state, created_at, last_error }: FoundTask): SearchHit => ({
  kind: "task",
  id: pk,
  title: pk.slice(0, MAX_TEXT),
  detail: last_error === null ? slug : `${slug}: ${lastLine(last_error)}`,
  state: stateName(state),
  at: isoTime(created_at),
  href: `${API}/workloads/${encodeURIComponent(slug)}/tasks/${encodeURIComponent(pk)}`,
  workload: slug,
});

const runHit = ({ run_id, slug, pk, outcome, finished_at, error }: FoundRun): SearchHit => ({
  kind: "run",
  id: String(run_id),
  title: pk.slice(0, MAX_TEXT),
  detail: [slug ?? "a deleted workload", lastLine(error)].filter(Boolean).join(": "),
  state: RUN_OUTCOMES[outcome] ?? "error",
  at: isoTime(finished_at),
  href: `${API}/runs/${run_id}`,
  workload: slug,
});

/** What the same failure says each time: numbers differ from run to run. */
const fingerprint = ({ slug, error, run_id }: FoundRun): string =>
  error === null ? String(run_id) : `${slug} ${lastLine(error).replace(/\d+/g, "#")}`;

/** Of runs that failed in the same way, and that nobody asked for by key or number, the newest. */
function oneOfEach(runs: readonly FoundRun[], q: string): FoundRun[] {
  const seen = new Set<string>();
  return runs.filter((run) => {
    const named = run.pk.startsWith(q) || String(run.run_id) === q;
    const key = named ? String(run.run_id) : fingerprint(run);
    return !seen.has(key) && seen.add(key);
  });
}

/** A text with a colon may be a label. */
const labelIn = (q: string): LabelFilter | null =>
  /^[A-Za-z0-9][A-Za-z0-9_./-]{0,62}:\S/.test(q) ? readLabelFilter(q) : null;

/** Whether texts have every word of `q`, in any order and case. */
function matching(q: string): (...texts: string[]) => boolean {
  const words = q.toLowerCase().split(/\s+/);
  return (...texts) => {
    const text = texts.join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  };
}

function sourcesOf(
  ctx: Pick<PipelineContext, "db" | "wall_jumps">,
): Partial<Record<HitKind, Source>> {
  const { search, workloads, pull_workers } = ctx.db;
  return {
    workload: async (q, limit) => {
      const matches = matching(q);
      return (await workloads.list())
        .filter((row) => matches(row.slug, row.name, row.description))
        .slice(0, limit)
        .map((row) => ({
          kind: "workload" as const,
          id: row.slug,
          title: row.name || row.slug,
          detail: [row.slug, row.description].filter(Boolean).join(": ").slice(0, MAX_TEXT),
          state: row.enabled ? "enabled" : "off",
          at: isoTime(row.updated_at),
          href: `${API}/workloads/${encodeURIComponent(row.slug)}`,
          workload: row.slug,
        }));
    },
    task: async (q, limit) => (await search.tasks(q, labelIn(q), limit)).map(taskHit),
    run: async (q, limit) => oneOfEach(await search.runs(q, labelIn(q), limit), q).map(runHit),
    pull_worker: async (q, limit) => {
      const matches = matching(q);
      return (await pull_workers.list())
        .filter((row) => matches(row.worker_id, row.host, JSON.stringify(row.labels)))
        .slice(0, limit)
        .map((row) => ({
          kind: "pull_worker" as const,
          id: row.worker_id,
          title: row.worker_id,
          detail: row.host,
          state: isLive(ctx.wall_jumps, row) ? (row.draining ? "draining" : "active") : "offline",
          at: isoTime(row.last_heartbeat_at),
          href: `${API}/workers/${encodeURIComponent(row.worker_id)}`,
          workload: null,
        }));
    },
    agent: async (q, limit) =>
      (await search.named("agents", q, limit)).map(({ id, at }) => ({
        kind: "agent" as const,
        id,
        title: id,
        detail: "host agent",
        state: null,
        at: isoTimeOrNull(at),
        href: `${API}/agents/${encodeURIComponent(id)}`,
        workload: null,
      })),
  };
}

/** GET /api/v1/search. */
export const searchPipeline = (
  ctx: Pick<PipelineContext, "clock" | "db" | "log" | "wall_jumps">,
  query: SearchQuery,
): Promise<SearchResult> => askSources(ctx, sourcesOf(ctx), query);
