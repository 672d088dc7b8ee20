import { Group, Text } from "@mantine/core";
import type { Lane } from "#shared/protocol/schema/worker.ts";

/** One mark for each lane, and how many of them have work. */
export function LaneStrip({ lanes }: { lanes: readonly Lane[] }) {
  const at_work = lanes.filter(({ state }) => state === "running").length;
  const bad = lanes.filter(({ state }) => state === "quarantined" || state === "dead").length;
  return (
    <Group gap={8} wrap="nowrap">
      <span className="lane-strip" aria-hidden>
        {lanes.map(({ lane_idx, state }) => (
          <span key={lane_idx} data-state={state} title={`Lane ${lane_idx}: ${state}`} />
        ))}
      </span>
      <Text size="xs" truncate>
        {at_work} of {lanes.length} at work{bad > 0 && `, ${bad} out of service`}
      </Text>
    </Group>
  );
}
