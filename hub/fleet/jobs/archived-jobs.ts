import { badRequest, invalid, notFound } from "#shared/kit/errors.ts";
import type { LabelFilter } from "#shared/protocol/label-text.ts";
import type { FleetContext } from "../context.ts";
import { getRow, pagesOfJobs } from "./read-jobs.ts";

/** The index is held until all of them are written: some 300 bytes for each answer. */
const MAX_LABELLED = 20_000;
const PAGE = 500;

/**
 * The jobs of one archive (rules/documents#web-archive-of-several-jobs), in its order.
 * @throws AppError not_found for an unknown job and for a label without jobs; bad_request, invalid
 */
export async function archivedJobs(
  ctx: Pick<FleetContext, "db">,
  { jobs, label }: { jobs?: string | undefined; label?: LabelFilter[] | undefined },
): Promise<string[]> {
  if ((jobs === undefined) === (label === undefined))
    throw badRequest("either jobs or label is required");
  if (label) return labelledJobs(ctx, label);
  const ids = [...new Set(jobs?.split(","))];
  await Promise.all(ids.map((id) => getRow(ctx, id)));
  return ids;
}

async function labelledJobs(ctx: Pick<FleetContext, "db">, label: LabelFilter[]) {
  const ids: string[] = [];
  for await (const page of pagesOfJobs(ctx, { label, status: "completed" }, PAGE)) {
    ids.push(...page.map(({ job_id }) => job_id));
    if (ids.length > MAX_LABELLED)
      throw invalid(["query", "label"], `more than ${MAX_LABELLED} jobs have it`);
  }
  if (ids.length === 0) throw notFound("completed job with this label");
  return ids.toReversed();
}
