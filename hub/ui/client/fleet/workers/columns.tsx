import type { Worker } from "#shared/protocol/schema/worker.ts";
import type { Column } from "../../parts/data-table.tsx";
import { workerLook } from "../../parts/status/worker.ts";
import { StatusMark } from "../../parts/status-mark.tsx";
import { Ago, Clip } from "../../parts/text.tsx";
import { LaneStrip } from "./lane-strip.tsx";
import { LoadBar } from "./load-bar.tsx";
import { isSkewed } from "./version.ts";
import { VersionBadge } from "./version-badge.tsx";

/** Values of the filter `show`. */
export const SHOWN = [
  { value: "active", label: "Active" },
  { value: "drain", label: "Draining" },
  { value: "standby", label: "Standby" },
  { value: "offline", label: "Not connected" },
  { value: "skewed", label: "Other version than the hub" },
];

export function filterWorkers(
  workers: readonly Worker[],
  { q, show }: { q: string; show: string },
  hub_version: string,
): Worker[] {
  const wanted = q.trim().toLowerCase();
  return workers.filter((worker) => {
    if (show === "offline" && worker.alive) return false;
    if (show === "skewed" && !isSkewed(worker, hub_version)) return false;
    if (["active", "drain", "standby"].includes(show) && worker.status !== show) return false;
    const { worker_id, hostname, version } = worker;
    return [worker_id, hostname, version].some((text) => text.toLowerCase().includes(wanted));
  });
}

const bar = (key: "cpu_percent" | "mem_percent" | "disk_pct", title: string): Column<Worker> => ({
  key,
  title,
  width: "minmax(86px, 1fr)",
  from: "md",
  cell: (worker) => <LoadBar label={`${title} of ${worker.worker_id}`} percent={worker[key]} />,
});

export const COLUMNS = (hub_version: string): Column<Worker>[] => [
  {
    key: "worker",
    title: "Worker",
    width: "minmax(90px, 2fr)",
    cell: ({ worker_id, hostname }) => (
      <Clip text={hostname === worker_id ? worker_id : `${worker_id} on ${hostname}`} />
    ),
  },
  {
    key: "status",
    title: "Status",
    width: "144px",
    cell: ({ alive, status, in_flight }) => (
      <StatusMark look={workerLook({ state: status, alive, in_flight })} />
    ),
  },
  {
    key: "lanes",
    title: "Lanes",
    width: "minmax(116px, 2fr)",
    cell: ({ lanes }) => <LaneStrip lanes={lanes} />,
  },
  bar("cpu_percent", "CPU"),
  bar("mem_percent", "Memory"),
  bar("disk_pct", "Disk"),
  {
    key: "version",
    title: "Version",
    width: "minmax(120px, 1.5fr)",
    from: "sm",
    cell: (worker) => <VersionBadge worker={worker} hub_version={hub_version} />,
  },
  {
    key: "heartbeat",
    title: "Last heartbeat",
    width: "minmax(110px, 1fr)",
    from: "lg",
    cell: ({ last_heartbeat_at }) => <Ago at={last_heartbeat_at} />,
  },
];
