import type { Run } from "#shared/protocol/schema/queue.ts";
import { durationText } from "../../lib/units.ts";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { runLook } from "../../parts/status/run.ts";
import { StatusMark } from "../../parts/status-mark.tsx";
import { Ago, Clip } from "../../parts/text.tsx";

const COLUMNS: Column<Run>[] = [
  {
    key: "outcome",
    title: "Outcome",
    width: "124px",
    cell: ({ outcome }) => <StatusMark look={runLook(outcome)} value={outcome} />,
  },
  {
    key: "workload",
    title: "Workload",
    width: "minmax(90px, 1fr)",
    from: "sm",
    cell: ({ workload }) => <Clip text={workload} />,
  },
  {
    key: "pk",
    title: "Task",
    width: "minmax(90px, 2fr)",
    cell: ({ pk }) => <Clip text={pk} mono />,
  },
  {
    key: "error",
    title: "Error",
    width: "minmax(120px, 3fr)",
    from: "md",
    cell: ({ error }) => (error === null ? null : <Clip text={error.slice(0, 300)} />),
  },
  {
    key: "attempt",
    title: "Attempt",
    width: "80px",
    align: "end",
    from: "md",
    cell: ({ attempt }) => attempt,
  },
  {
    key: "worker",
    title: "Worker",
    width: "minmax(90px, 1fr)",
    from: "lg",
    cell: ({ worker_id }) => <Clip text={worker_id} />,
  },
  {
    key: "took",
    title: "Took",
    width: "96px",
    align: "end",
    from: "sm",
    cell: ({ duration_ms }) => durationText(duration_ms),
  },
  {
    key: "ended",
    title: "Ended",
    width: "112px",
    align: "end",
    cell: ({ finished_at }) => <Ago at={finished_at} />,
  },
];

const OF_ONE = COLUMNS.filter(({ key }) => key !== "workload");

interface RunTableProps {
  label: string;
  runs: readonly Run[];
  /** All are of this page's workload. */
  oneWorkload?: boolean;
  /** The run that is shown. */
  current?: string;
  onOpen: (run_id: number) => void;
}

/** Runs, the newest first; one opens beside them. */
export function RunTable({ label, runs, oneWorkload = false, current, onOpen }: RunTableProps) {
  return (
    <DataTable
      label={label}
      columns={oneWorkload ? OF_ONE : COLUMNS}
      rows={runs}
      rowKey={({ run_id }) => String(run_id)}
      current={current}
      onOpen={({ run_id }) => onOpen(run_id)}
    />
  );
}
