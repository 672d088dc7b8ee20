import { Anchor } from "@mantine/core";
import { Link } from "wouter";
import type { Job } from "#shared/protocol/schema/job.ts";
import { differenceHref, watchHref } from "../../lib/links.ts";

/** The watch that made it, and what it says of it. */
export function OfWatch({ job: { watch_id, job_id, changed, changes } }: { job: Job }) {
  return (
    <>
      <Anchor component={Link} href={watchHref(watch_id ?? "")} size="sm">
        {watch_id}
      </Anchor>
      {changes && (
        <>
          {", "}
          <Anchor component={Link} href={differenceHref(changes.against, job_id)} size="sm">
            {changed ? "changed" : "unchanged"}
          </Anchor>
        </>
      )}
    </>
  );
}
