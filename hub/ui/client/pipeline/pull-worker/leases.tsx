import { Anchor, Code, Stack, Text } from "@mantine/core";
import { useRef } from "react";
import { Link } from "wouter";
import type { Lease } from "#shared/protocol/schema/pull-daemon.ts";
import { workloadHref } from "../../lib/links.ts";
import { useNow } from "../../lib/now.ts";
import { useGet } from "../../lib/query.ts";
import { durationText } from "../../lib/units.ts";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Loadable } from "../../parts/states.tsx";
import { Ago, Clip, Elapsed } from "../../parts/text.tsx";

/** Leases are renewed with every heartbeat. */
const EVERY_MS = 2_000;

/** `until` is by the queue's clock; `ahead_ms`: by how much that one goes before this browser's. */
function Countdown({ until, ahead_ms }: { until: string; ahead_ms: number }) {
  const left = Date.parse(until) - (useNow() + ahead_ms);
  return left > 0 ? (
    <span className="nums">{durationText(Math.ceil(left / 1_000) * 1_000)}</span>
  ) : (
    <Text component="span" size="sm" c="var(--mantine-color-error)">
      over
    </Text>
  );
}

const columns = (ahead_ms: number): Column<Lease>[] => [
  {
    key: "workload",
    title: "Workload",
    width: "minmax(90px, 1fr)",
    cell: ({ workload }) => (
      <Anchor component={Link} href={workloadHref(workload)} size="sm" truncate>
        {workload}
      </Anchor>
    ),
  },
  {
    key: "pk",
    title: "Task",
    width: "minmax(90px, 2fr)",
    cell: ({ pk }) => <Clip text={pk} mono />,
  },
  {
    key: "attempt",
    title: "Attempt",
    width: "76px",
    align: "end",
    from: "sm",
    cell: ({ attempt }) => attempt,
  },
  {
    key: "held",
    title: "Held for",
    width: "92px",
    align: "end",
    from: "sm",
    cell: ({ claimed_at }) => <Elapsed since={claimed_at} />,
  },
  {
    key: "left",
    title: "Lease left",
    width: "100px",
    align: "end",
    cell: ({ lease_until }) => <Countdown until={lease_until} ahead_ms={ahead_ms} />,
  },
];

/** What a worker holds, with the time that is left of each lease, and what its tasks printed last. */
export function HeldTasks({ id }: { id: string }) {
  const leases = useGet(
    "/api/v1/workers/{id}/leases",
    { params: { id } },
    { refetchInterval: EVERY_MS },
  );
  const live = useGet(
    "/api/v1/workers/{id}/runs",
    { params: { id } },
    { refetchInterval: EVERY_MS },
  );
  const printed = (live.data?.runs ?? []).filter(({ stdout, stderr }) => stdout || stderr);
  // Reckoned once for each answer, so that the countdown does not jump with the time an answer takes.
  const reckoned = useRef({ at: "", ahead_ms: 0 });
  const at = leases.data?.at ?? "";
  if (at !== "" && reckoned.current.at !== at)
    reckoned.current = { at, ahead_ms: Date.parse(at) - leases.dataUpdatedAt };
  return (
    <Stack gap="xs">
      <Loadable query={leases} lines={3}>
        {({ leases: rows }) =>
          rows.length === 0 ? (
            <Text size="sm" c="dimmed">
              It holds no task now.
            </Text>
          ) : (
            <DataTable
              label={`Tasks that ${id} holds`}
              columns={columns(reckoned.current.ahead_ms)}
              rows={rows}
              rowKey={({ task_id, epoch }) => `${task_id}-${epoch}`}
              height={360}
            />
          )
        }
      </Loadable>
      {printed.map(({ task_id, epoch, workload, pk, stdout, stderr }) => (
        <div key={`${task_id}-${epoch}`}>
          <Text size="xs" c="dimmed" className="wrap">
            {workload} {pk} printed last (reported <Ago at={live.data?.at} />)
          </Text>
          <Code block className="wrap" tabIndex={0} mah={180} style={{ overflow: "auto" }}>
            {[stdout, stderr].filter(Boolean).join("\n")}
          </Code>
        </div>
      ))}
    </Stack>
  );
}
