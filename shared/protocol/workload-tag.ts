import type { Workload } from "./schema/workload.ts";

/** The ETag of a workload's settings, and the If-Match of an edit of them. It does not cover `executor`. */
export const workloadTag = ({ updated_at }: Pick<Workload, "updated_at">): string =>
  `"${Date.parse(updated_at)}"`;
