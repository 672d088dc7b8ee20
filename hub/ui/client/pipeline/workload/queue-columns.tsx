import type { QueueRow } from "#shared/protocol/schema/queue.ts";
import { type Column, pickFrom } from "../../parts/data-table.tsx";
import { Ago, Clip, Elapsed } from "../../parts/text.tsx";

export const QUEUE_TABS = ["ready", "claimed", "failed", "delayed"] as const;
export type QueueTab = (typeof QUEUE_TABS)[number];

const COLUMNS: Record<string, Column<QueueRow>> = {
  pk: {
    key: "pk",
    title: "Task",
    width: "minmax(110px, 2fr)",
    cell: ({ pk }) => <Clip text={pk} mono />,
  },
  attempt: {
    key: "attempt",
    title: "Attempts",
    width: "88px",
    align: "end",
    cell: ({ attempt, max_attempts }) => `${attempt} of ${max_attempts}`,
  },
  priority: {
    key: "priority",
    title: "Priority",
    width: "80px",
    align: "end",
    from: "md",
    cell: ({ priority }) => priority,
  },
  submitted: {
    key: "submitted",
    title: "Submitted",
    width: "112px",
    align: "end",
    from: "sm",
    cell: ({ created_at }) => <Ago at={created_at} />,
  },
  run_at: {
    key: "run_at",
    title: "May run",
    width: "112px",
    align: "end",
    cell: ({ run_at }) => <Ago at={run_at} />,
  },
  worker: {
    key: "worker",
    title: "Worker",
    width: "minmax(90px, 1fr)",
    from: "sm",
    cell: ({ worker_id }) => <Clip text={worker_id} />,
  },
  held: {
    key: "held",
    title: "Runs for",
    width: "96px",
    align: "end",
    cell: ({ claimed_at }) => <Elapsed since={claimed_at} />,
  },
  lease: {
    key: "lease",
    title: "Lease ends",
    width: "104px",
    align: "end",
    from: "md",
    cell: ({ lease_until }) => <Ago at={lease_until} />,
  },
  error: {
    key: "error",
    title: "Last error",
    width: "minmax(120px, 3fr)",
    cell: ({ last_error }) => <Clip text={last_error?.slice(0, 300)} />,
  },
};
const pick = pickFrom(COLUMNS);

export const COLUMNS_OF: Record<QueueTab, Column<QueueRow>[]> = {
  ready: pick("pk", "priority", "attempt", "submitted"),
  claimed: pick("pk", "worker", "attempt", "held", "lease"),
  failed: pick("pk", "error", "attempt", "submitted"),
  delayed: pick("pk", "error", "attempt", "run_at"),
};
