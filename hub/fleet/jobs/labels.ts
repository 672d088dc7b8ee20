import type { JobRow } from "#hub/platform/db/rows.ts";
import { conflict, invalid } from "#shared/kit/errors.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import { changedLabels, type LabelChanges, MAX_LABELS } from "#shared/protocol/schema/labels.ts";
import type { JobReadContext } from "./job-contexts.ts";
import { getRow, recordOf } from "./read-jobs.ts";

/** Others may change the labels at the same time; each try begins with what is stored by then. */
const TRIES = 5;

/**
 * PATCH /jobs/{id} (rules/labels#change-the-labels-of-a-job).
 * @throws AppError invalid when it would have too many labels; not_found; conflict when others keep changing them
 */
export async function changeLabels(
  ctx: JobReadContext,
  found: JobRow,
  changes: LabelChanges,
): Promise<Job> {
  let row = found;
  for (let n = 0; n < TRIES; n += 1) {
    const labels = changedLabels(row.labels, changes);
    if (Object.keys(labels ?? {}).length > MAX_LABELS)
      throw invalid(["body", "labels"], `the job would have more than ${MAX_LABELS} labels`);
    if (await ctx.db.jobs.replaceLabels(row, labels)) return recordOf(ctx, { ...row, labels });
    row = await getRow(ctx, row.job_id);
  }
  throw conflict("others are changing the labels of this job; try again");
}
