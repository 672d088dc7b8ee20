import { Anchor } from "@mantine/core";
import { Link } from "wouter";
import type { Job } from "#shared/protocol/schema/job.ts";
import { withQuery } from "../../lib/http.ts";
import { hostHref, workersHref } from "../../lib/links.ts";
import { bytesText, countText } from "../../lib/units.ts";
import { Fact, FactList } from "../../parts/facts.tsx";
import { LabelLinks } from "../../parts/labels.tsx";
import { Moment } from "../../parts/panel-parts.tsx";
import { OfWatch } from "../job/of-watch.tsx";
import { JobDuration, JobRing } from "../job/state.tsx";

/** How many of its files are whole, as the list has it, and how many are not. */
function FilesWhole({ job }: { job: Job }) {
  const { partial = 0, lost = 0 } = job.capture ?? {};
  return (
    <>
      <JobRing job={job} />
      {partial > 0 && `, ${countText(partial)} partial`}
      {lost > 0 && `, ${countText(lost)} lost`}
    </>
  );
}

const capturesOf = (label: string) => withQuery("/ui/captures", { label });

/** What is known of a capture, in short; its page has the rest. */
export function JobFacts({ job }: { job: Job }) {
  const { url, final_url, http_status, mode, worker_id } = job;
  const host = URL.canParse(url) ? new URL(url).hostname : "";
  return (
    <FactList label="Capture">
      <Fact name="Address" copy={url}>
        {url}
      </Fact>
      {final_url !== null && final_url !== url && (
        <Fact name="Final address" copy={final_url}>
          {final_url}
        </Fact>
      )}
      {host !== "" && (
        <Fact name="Host">
          <Anchor component={Link} href={hostHref(host)} size="sm">
            {host}
          </Anchor>
        </Fact>
      )}
      {http_status !== null && <Fact name="HTTP status">{http_status}</Fact>}
      <Fact name="Submitted">
        <Moment at={job.created_at} />
      </Fact>
      <Fact name="Took">
        <JobDuration job={job} />
      </Fact>
      <Fact name="Files">
        {countText(job.asset_count)}, {bytesText(job.asset_bytes)}
      </Fact>
      <Fact name="Files whole">
        <FilesWhole job={job} />
      </Fact>
      {mode !== "fetch" && <Fact name="Attempts">{countText(job.attempts)}</Fact>}
      {worker_id !== null && (
        <Fact name="Worker">
          <Anchor component={Link} href={workersHref("browser")} size="sm">
            {worker_id}, lane {job.lane_idx}
          </Anchor>
        </Fact>
      )}
      {job.watch_id !== null && (
        <Fact name="Schedule">
          <OfWatch job={job} />
        </Fact>
      )}
      <Fact name="Labels">
        <LabelLinks labels={job.labels} hrefOf={capturesOf} />
      </Fact>
      <Fact name="Id" copy={job.job_id}>
        {job.job_id}
      </Fact>
    </FactList>
  );
}
