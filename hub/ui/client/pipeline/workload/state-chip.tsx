import type { QueueCounts } from "#shared/protocol/schema/queue.ts";
import type { Workload } from "#shared/protocol/schema/workload.ts";
import { StatusMark } from "../../parts/status-mark.tsx";
import { stateOf } from "./state.ts";
import { useSeen } from "./use-seen.ts";

interface StateChipProps {
  workload: Workload;
  counts: QueueCounts | undefined;
}

/** The state of a workload in the head of its page. */
export function StateChip({ workload, counts }: StateChipProps) {
  const { slug, enabled, executor } = workload;
  const known = {
    slug,
    enabled,
    broken: executor.state === "broken",
    running: counts?.claimed ?? 0,
  };
  return <StatusMark look={stateOf(known, useSeen())} chip />;
}
