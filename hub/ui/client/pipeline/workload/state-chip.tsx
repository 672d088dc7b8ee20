import type { QueueCounts } from "#shared/protocol/schema/queue.ts";
import type { Workload } from "#shared/protocol/schema/workload.ts";
import { useGet } from "../../lib/query.ts";
import { Status } from "../../parts/text.tsx";

/** Above this share of failures among its last 20 runs most fail. */
const MOST = 0.5;

interface Facts {
  workload: Workload;
  claimed: number;
  /** Share of its last runs that failed; null: it has none. */
  failing: number | null;
  /** What the supervisor found. */
  problem: string | null;
}

/** What matters most about a workload, the worst first. */
function stateOf({ workload: { executor, enabled }, claimed, failing, problem }: Facts) {
  if (executor.state === "broken")
    return { value: "broken", word: "Broken", color: "red", title: "Its code does not load" };
  if (!enabled)
    return { value: "off", word: "Off", color: "gray", title: "It keeps its tasks; none runs" };
  if (problem === "no_worker")
    return { value: "no_worker", word: "No worker for it", color: "yellow", title: "" };
  if (failing !== null && failing > 0) {
    const percent = `${Math.max(1, Math.round(failing * 100))} %`;
    const title = "Of its last 20 runs";
    return failing > MOST
      ? { value: "failing", word: `Failing · ${percent}`, color: "red", title }
      : { value: "some_fail", word: `Some fail · ${percent}`, color: "yellow", title };
  }
  return claimed > 0
    ? { value: "running", word: "Running", color: "blue", title: "" }
    : { value: "idle", word: "Idle", color: "gray", title: "" };
}

interface StateChipProps {
  workload: Workload;
  counts: QueueCounts | undefined;
}

/** The state of a workload, as a word. */
export function StateChip({ workload, counts }: StateChipProps) {
  const { slug } = workload;
  const overview = useGet("/api/v1/dashboard/overview");
  const summary = useGet("/api/v1/dashboard/workloads-runs-summary");
  const runs = summary.data?.workloads.find((one) => one.slug === slug);
  const rate = runs?.success_rate ?? null;
  const supervised = overview.data?.supervised.find((one) => one.workload === slug);
  return (
    <Status
      {...stateOf({
        workload,
        claimed: counts?.claimed ?? 0,
        failing: rate === null ? null : 1 - rate,
        problem: supervised?.problem ?? null,
      })}
    />
  );
}
