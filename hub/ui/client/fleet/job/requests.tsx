import { Group, Select, Text, TextInput } from "@mantine/core";
import { useMemo } from "react";
import { FlotillaError } from "#shared/client/errors.ts";
import type { Har } from "#shared/protocol/schema/har.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import { useFilters } from "../../lib/filters.ts";
import { useGet } from "../../lib/query.ts";
import { bytesText, countText, durationText } from "../../lib/units.ts";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Empty, Loadable } from "../../parts/states.tsx";
import { Clip } from "../../parts/text.tsx";
import { endOf, nameOf, PHASE_TITLES, PHASES, type Row, rowsOf, typeOf } from "./har.ts";
import { RequestDrawer } from "./request-drawer.tsx";

/** What the browser requested and got: each request at its start and as long as it took. */
export function Requests({ job }: { job: Job }) {
  const query = useGet(
    "/jobs/{id}/har.json",
    { params: { id: job.job_id } },
    // It is written once, at the end.
    {
      refetchInterval: false,
      staleTime: Number.POSITIVE_INFINITY,
      enabled: job.finished_at !== null,
    },
  );
  if (job.finished_at === null)
    return (
      <Empty title="The requests appear when the job ends">
        Meanwhile, the log shows what happens.
      </Empty>
    );
  if (query.error instanceof FlotillaError && query.error.status === 404)
    return (
      <Empty title="No requests were recorded">The job ended before its browser was ready.</Empty>
    );
  return <Loadable query={query}>{(har) => <Waterfall job={job} har={har} />}</Loadable>;
}

function Waterfall({ job, har }: { job: Job; har: Har }) {
  const [filters, setFilters] = useFilters({ q: "", type: "", request: "" });
  const rows = useMemo(() => rowsOf(har), [har]);
  const types = [...new Set(rows.map(({ entry }) => typeOf(entry)))].filter(Boolean).sort();
  const wanted = filters.q.toLowerCase();
  const shown = rows.filter(
    ({ entry }) =>
      (filters.type === "" || typeOf(entry) === filters.type) &&
      `${entry.request.method} ${entry.response.status} ${entry.request.url}`
        .toLowerCase()
        .includes(wanted),
  );
  const whole_ms = endOf(rows);
  const opened = rows.find(({ key }) => key === filters.request);
  return (
    <>
      <Group mb="sm" gap="sm">
        <TextInput
          data-filter
          aria-label="Address, method or status"
          placeholder="Address, method or status…"
          w={{ base: "100%", xs: 260 }}
          value={filters.q}
          onChange={(event) => setFilters({ q: event.currentTarget.value })}
        />
        <Select
          aria-label="Type"
          placeholder="Every type"
          clearable
          w={160}
          data={types}
          value={filters.type || null}
          onChange={(type) => setFilters({ type: type ?? "" })}
        />
        <Text size="sm" c="dimmed">
          {countText(shown.length)} of {countText(rows.length)} requests in {durationText(whole_ms)}
        </Text>
      </Group>
      <Group gap="md" mb="xs" className="job-legend" visibleFrom="sm" aria-hidden>
        {PHASES.map((name) => (
          <span key={name}>
            <i data-phase={name} /> {PHASE_TITLES[name]}
          </span>
        ))}
      </Group>
      <DataTable
        label="Requests"
        columns={columnsOf(whole_ms)}
        rows={shown}
        rowKey={({ key }) => key}
        onOpen={({ key }) => setFilters({ request: key })}
        height="65dvh"
      />
      {opened && (
        <RequestDrawer
          job_id={job.job_id}
          row={opened}
          onClose={() => setFilters({ request: "" })}
        />
      )}
    </>
  );
}

const statusText = (status: number): string => (status === 0 ? "failed" : String(status));

const columnsOf = (whole_ms: number): Column<Row>[] => [
  {
    key: "name",
    title: "Name",
    width: "minmax(130px, 2fr)",
    cell: ({ entry: { request } }) => (
      <Text size="sm" truncate title={request.url} span display="block">
        {nameOf(request.url)}
      </Text>
    ),
  },
  {
    key: "method",
    title: "Method",
    width: "80px",
    from: "md",
    cell: ({ entry }) => <Clip text={entry.request.method} />,
  },
  {
    key: "status",
    title: "Status",
    width: "70px",
    cell: ({ entry: { response } }) => (
      <Text
        span
        size="sm"
        c={
          response.status === 0 || response.status >= 400 ? "var(--mantine-color-error)" : undefined
        }
      >
        {statusText(response.status)}
      </Text>
    ),
  },
  {
    key: "type",
    title: "Type",
    width: "110px",
    from: "md",
    cell: ({ entry }) => <Clip text={typeOf(entry)} />,
  },
  {
    key: "size",
    title: "Size",
    width: "85px",
    align: "end",
    from: "sm",
    cell: ({ entry }) => bytesText(entry.response.content.size),
  },
  {
    key: "time",
    title: "Time",
    width: "85px",
    align: "end",
    cell: ({ entry }) => durationText(entry.time),
  },
  {
    key: "waterfall",
    title: "Waterfall",
    width: "minmax(160px, 4fr)",
    from: "sm",
    cell: (row) => <Bar row={row} whole_ms={whole_ms} />,
  },
];

/** Where the request lies in the whole time; a thin line where it has no phases. */
function Bar({ row, whole_ms }: { row: Row; whole_ms: number }) {
  const share = (ms: number) => `${(ms / whole_ms) * 100}%`;
  const time = Math.max(0, row.entry.time);
  return (
    <div
      className="job-waterfall"
      role="img"
      aria-label={`begins after ${durationText(row.from_ms)}, takes ${durationText(time)}`}
    >
      {row.spans.length === 0 && (
        <i data-phase="blocked" style={{ left: share(row.from_ms), width: share(time) }} />
      )}
      {row.spans.map(({ name, from_ms, ms }) => (
        <i key={name} data-phase={name} style={{ left: share(from_ms), width: share(ms) }} />
      ))}
    </div>
  );
}
