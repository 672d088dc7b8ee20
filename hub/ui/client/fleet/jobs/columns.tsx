import type { Job } from "#shared/protocol/schema/job.ts";
import { jobHref } from "../../lib/links.ts";
import { bytesText, countText } from "../../lib/units.ts";
import { CaptureRing } from "../../parts/capture-ring.tsx";
import type { Column } from "../../parts/data-table.tsx";
import { PageName } from "../../parts/page-name.tsx";
import { RowLink } from "../../parts/row-link.tsx";
import { failureReason } from "../../parts/status/job.ts";
import { Ago } from "../../parts/text.tsx";
import { Thumb } from "../../parts/thumb.tsx";
import { SmallPicture } from "../job/pictures.tsx";
import { JobDuration, JobState } from "../job/state.tsx";

/** What there is to say of a job whose page has no title. */
function untitled({ status, error }: Job): string {
  if (status === "queued") return "No picture yet";
  return error ?? "";
}

/** The page of a job: its title above its address. */
export const Target = ({ job }: { job: Job }) => (
  <PageName
    title={job.title ?? ""}
    url={job.url}
    said={untitled(job)}
    icon={job.favicon_href !== null && <SmallPicture className="job-icon" src={job.favicon_href} />}
  />
);

const NamedTarget = ({ job }: { job: Job }) => (
  <RowLink href={jobHref(job.job_id)}>
    <Target job={job} />
  </RowLink>
);

/** What became of it; of a failure that its two words do not tell the reason of, what it said. */
function Result({ job }: { job: Job }) {
  const { status, error } = job;
  if (status !== "failed" || error === null || failureReason(error) !== null)
    return <JobState job={job} />;
  return (
    <span className="job-target">
      <JobState job={job} />
      <span className="clip job-why" title={error}>
        {error}
      </span>
    </span>
  );
}

/** All of it in one cell, where there is no room for columns. */
const Card = ({ job }: { job: Job }) => (
  <span className="job-card">
    <NamedTarget job={job} />
    <span className="job-card-foot">
      <JobState job={job} />
      <span className="job-card-facts">
        {job.asset_bytes > 0 && `${bytesText(job.asset_bytes)} · `}
        <Ago at={job.created_at} />
      </span>
    </span>
  </span>
);

function Whole({ job: { capture: report, status, asset_count } }: { job: Job }) {
  if (status === "running") return <CaptureRing whole={asset_count} of={0} running />;
  if (report === null || report.seen === 0) return <CaptureRing whole={0} of={0} />;
  const { seen, captured, partial, lost } = report;
  const parts = [`${countText(captured)} of ${countText(seen)} files whole`];
  if (partial > 0) parts.push(`${countText(partial)} partial`);
  if (lost > 0) parts.push(`${countText(lost)} lost`);
  return (
    <span title={parts.join(", ")}>
      <CaptureRing whole={captured} of={seen} />
    </span>
  );
}

const KINDS: Record<Job["mode"], string> = {
  fetch: "Page",
  rerun: "Script",
  "codegen-loop": "AI answer",
};

export const Picture = ({ job }: { job: Job }) => <Thumb src={job.thumbnail_href} />;
export const Size = ({ job }: { job: Job }) => (
  <>{job.asset_bytes > 0 ? bytesText(job.asset_bytes) : "–"}</>
);

export const COLUMNS: Column<Job>[] = [
  { key: "picture", title: "", width: "86px", cell: (job) => <Picture job={job} /> },
  {
    key: "card",
    title: "Page",
    width: "minmax(0, 1fr)",
    below: "sm",
    cell: (job) => <Card job={job} />,
  },
  {
    key: "page",
    title: "Page",
    width: "minmax(150px, 1fr)",
    from: "sm",
    cell: (job) => <NamedTarget job={job} />,
  },
  {
    key: "result",
    title: "Result",
    width: "minmax(120px, 190px)",
    from: "sm",
    cell: (job) => <Result job={job} />,
  },
  {
    key: "whole",
    title: "Files whole",
    width: "116px",
    from: "md",
    cell: (job) => <Whole job={job} />,
  },
  {
    key: "took",
    title: "Took",
    width: "88px",
    align: "end",
    from: "md",
    cell: (job) => <JobDuration job={job} />,
  },
  {
    key: "size",
    title: "Size",
    width: "84px",
    align: "end",
    from: "sm",
    cell: (job) => <Size job={job} />,
  },
  { key: "kind", title: "Kind", width: "92px", from: "lg", cell: ({ mode }) => KINDS[mode] },
  {
    key: "when",
    title: "When",
    width: "104px",
    align: "end",
    from: "sm",
    cell: (job) => (
      <span className="clip">
        <Ago at={job.created_at} />
      </span>
    ),
  },
];
