import { Group, Text } from "@mantine/core";
import { workloadHref } from "../../lib/links.ts";
import { countText, durationText, percentText } from "../../lib/units.ts";
import { type Column, DataTable, pickFrom } from "../../parts/data-table.tsx";
import { Sparkline } from "../../parts/sparkline.tsx";
import { Clip } from "../../parts/text.tsx";
import type { WorkloadState } from "./problems.ts";

/** The last runs as marks and as a share. */
export function LastRuns({ runs, rate }: { runs: readonly boolean[]; rate: number | null }) {
  if (runs.length === 0)
    return (
      <Text size="xs" c="dimmed">
        never run
      </Text>
    );
  const good = runs.filter(Boolean).length;
  return (
    <Group gap={6} wrap="nowrap">
      <Sparkline runs={runs} label={`${good} of the last ${runs.length} runs succeeded`} />
      <Text size="xs" c="dimmed" className="nums" style={{ whiteSpace: "nowrap" }}>
        {percentText(rate)}
      </Text>
    </Group>
  );
}

const COLUMNS: Record<string, Column<WorkloadState>> = {
  slug: {
    key: "slug",
    title: "Workload",
    width: "minmax(96px, 1.4fr)",
    cell: ({ slug }) => <Clip text={slug} />,
  },
  runs: {
    key: "runs",
    title: "Last 20 runs",
    width: "172px",
    from: "sm",
    cell: ({ runs, success_rate }) => <LastRuns runs={runs} rate={success_rate} />,
  },
  ready: {
    key: "pending",
    title: "Pending",
    width: "84px",
    align: "end",
    cell: ({ pending }) => countText(pending),
  },
  claimed: {
    key: "claimed",
    title: "Running",
    width: "84px",
    align: "end",
    cell: ({ claimed }) => countText(claimed),
  },
  failed: {
    key: "failed",
    title: "Failed",
    width: "76px",
    align: "end",
    from: "sm",
    cell: ({ failed }) => countText(failed),
  },
  oldest: {
    key: "oldest",
    title: "Oldest ready",
    width: "116px",
    align: "end",
    from: "md",
    cell: ({ oldest_s }) => (oldest_s === null ? "–" : durationText(oldest_s * 1_000)),
  },
  minute: {
    key: "minute",
    title: "Done per minute",
    width: "120px",
    align: "end",
    from: "md",
    cell: ({ minute }) => `${countText(minute.succeeded ?? 0)} / min`,
  },
  expired: {
    key: "expired",
    title: "Leases expired",
    width: "124px",
    align: "end",
    from: "lg",
    cell: ({ hour }) => `${countText(hour.expired ?? 0)} / h`,
  },
};
const pick = pickFrom(COLUMNS);
const ALL = pick("slug", "runs", "ready", "claimed", "failed", "oldest", "minute", "expired");

/** Workloads in short. */
export function StateTable({ label, rows }: { label: string; rows: readonly WorkloadState[] }) {
  return (
    <DataTable
      label={label}
      columns={ALL}
      rows={rows}
      rowKey={({ slug }) => slug}
      href={({ slug }) => workloadHref(slug)}
    />
  );
}
