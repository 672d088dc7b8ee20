import { Group, Text } from "@mantine/core";
import type { CaptureReport, Job } from "#shared/protocol/schema/job.ts";
import { bytesText, countText, percentText } from "../../lib/units.ts";
import type { Column } from "../../parts/data-table.tsx";
import { Ago, Clip, Elapsed, Status } from "../../parts/text.tsx";
import { SmallPicture } from "../job/pictures.tsx";

/** The target's host name: what the host filter takes. */
const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).hostname : "");

/** Begins with the path where the host has its own column. */
function Address({ url }: { url: string }) {
  const origin =
    URL.canParse(url) && url.startsWith(new URL(url).origin) ? new URL(url).origin : "";
  return (
    <span className="clip" title={url}>
      <span className="job-origin">{origin}</span>
      {url.slice(origin.length)}
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
  if (report === null) return <>–</>;
  const { seen, captured, partial, lost } = report;
  const parts = [`${countText(captured)} of ${countText(seen)} bodies`];
  if (partial > 0) parts.push(`${countText(partial)} partial`);
  if (lost > 0) parts.push(`${countText(lost)} lost`);
  return <span title={parts.join(", ")}>{percentText(report.ratio)}</span>;
}

function State({ job }: { job: Job }) {
  const status = <Status value={job.status} title={job.stage ?? undefined} />;
  if (job.queue_position === null) return status;
  return (
    <Group gap={4} wrap="nowrap">
      {status}
      <Text size="xs" c="dimmed" title="Place in the queue">
        #{countText(job.queue_position)}
      </Text>
    </Group>
  );
}

export const COLUMNS: Column<Job>[] = [
  { key: "status", title: "Status", width: "118px", cell: (job) => <State job={job} /> },
  {
    key: "page",
    title: "Page",
    width: "68px",
    from: "sm",
    cell: (job) => <SmallPicture className="job-thumbnail" src={job.thumbnail_href} />,
  },
  {
    key: "host",
    title: "Host",
    width: "minmax(90px, 1fr)",
    from: "lg",
    cell: (job) => <Clip text={hostOf(job.url)} />,
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
    cell: (job) => <Elapsed since={job.started_at} until={job.finished_at} />,
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
    width: "84px",
    align: "end",
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
