import type { CaptureReport, Job } from "#shared/protocol/schema/job.ts";
import { bytesText, countText } from "../../lib/units.ts";
import { CaptureRing } from "../../parts/capture-ring.tsx";
import type { Column } from "../../parts/data-table.tsx";
import { Ago, Clip } from "../../parts/text.tsx";
import { Thumb } from "../../parts/thumb.tsx";
import { SmallPicture } from "../job/pictures.tsx";
import { JobDuration, JobState } from "../job/state.tsx";

const PARTS = /^https?:\/\/(?:[^/?#]*@)?([^/?#]+)(.*)$/is;

/** Host with port, then the path, as they were written: two servers of one machine are two sites. */
function Address({ url }: { url: string }) {
  const [, host = "", rest = url] = PARTS.exec(url) ?? [];
  return (
    <span className="clip" title={url}>
      {host && <span className="job-host">{host}</span>}
      {rest}
    </span>
  );
}

/** What a person would call it: its title with its icon, above its address. */
function Target({ job }: { job: Job }) {
  if (!job.title) return <Address url={job.url} />;
  return (
    <span className="job-target">
      <SmallPicture className="job-icon" src={job.favicon_href} />
      <span className="clip" title={job.title}>
        {job.title}
      </span>
      <Address url={job.url} />
    </span>
  );
}

function Capture({ report }: { report: CaptureReport | null }) {
  if (report === null || report.seen === 0) return <CaptureRing whole={0} of={0} />;
  const { seen, captured, partial, lost } = report;
  const parts = [`${countText(captured)} of ${countText(seen)} bodies`];
  if (partial > 0) parts.push(`${countText(partial)} partial`);
  if (lost > 0) parts.push(`${countText(lost)} lost`);
  return (
    <span title={parts.join(", ")}>
      <CaptureRing whole={captured} of={seen} />
    </span>
  );
}

export const COLUMNS: Column<Job>[] = [
  {
    key: "status",
    title: "Status",
    width: "minmax(150px, 190px)",
    cell: (job) => <JobState job={job} />,
  },
  {
    key: "page",
    title: "Page",
    width: "86px",
    from: "sm",
    cell: (job) => <Thumb src={job.thumbnail_href} />,
  },
  {
    key: "url",
    title: "Address",
    width: "minmax(130px, 2fr)",
    cell: (job) => <Target job={job} />,
  },
  {
    key: "mode",
    title: "Mode",
    width: "116px",
    from: "lg",
    cell: (job) => <Clip text={job.mode} />,
  },
  {
    key: "worker",
    title: "Worker",
    width: "76px",
    from: "lg",
    cell: (job) => <Clip text={job.worker_id} />,
  },
  {
    key: "created",
    title: "Created",
    width: "122px",
    from: "sm",
    cell: (job) => (
      <span className="clip">
        <Ago at={job.created_at} />
      </span>
    ),
  },
  {
    key: "duration",
    title: "Duration",
    width: "92px",
    align: "end",
    from: "sm",
    cell: (job) => <JobDuration job={job} />,
  },
  {
    key: "assets",
    title: "Assets",
    width: "70px",
    align: "end",
    from: "lg",
    cell: (job) => countText(job.asset_count),
  },
  {
    key: "size",
    title: "Size",
    width: "84px",
    align: "end",
    from: "lg",
    cell: (job) => bytesText(job.asset_bytes),
  },
  {
    key: "capture",
    title: "Captured",
    width: "110px",
    from: "lg",
    cell: (job) => <Capture report={job.capture} />,
  },
  {
    key: "error",
    title: "Error",
    width: "minmax(88px, 1.5fr)",
    from: "sm",
    cell: (job) => <Clip text={job.error} />,
  },
];
