import { Paper, SimpleGrid, Text } from "@mantine/core";
import { countText, durationText } from "../../lib/units.ts";
import type { WorkloadState } from "./problems.ts";

const sum = (states: readonly WorkloadState[], of: (state: WorkloadState) => number | undefined) =>
  states.reduce((all, state) => all + (of(state) ?? 0), 0);

export function Total({ name, value, note }: { name: string; value: string; note?: string }) {
  return (
    <Paper withBorder px="sm" py={6}>
      <Text size="xs" c="dimmed">
        {name}
      </Text>
      <Text size="lg" fw={600} className="nums">
        {value}
      </Text>
      {note && (
        <Text size="xs" c="dimmed">
          {note}
        </Text>
      )}
    </Paper>
  );
}

/** Everything together, with the rates of the last whole minute. */
export function Totals({ states }: { states: readonly WorkloadState[] }) {
  const minute = (metric: string) => countText(sum(states, (one) => one.minute[metric]));
  const oldest = Math.max(...states.map(({ oldest_s }) => oldest_s ?? -1));
  return (
    <SimpleGrid cols={{ base: 2, xs: 3, md: 6 }} spacing="xs">
      <Total name="Pending" value={countText(sum(states, (one) => one.pending))} note="tasks" />
      <Total name="Running" value={countText(sum(states, (one) => one.claimed))} note="tasks" />
      <Total name="Failed" value={countText(sum(states, (one) => one.failed))} note="tasks" />
      <Total name="Submitted" value={minute("submitted")} note="in the last minute" />
      <Total name="Succeeded" value={minute("succeeded")} note="in the last minute" />
      <Total
        name="Oldest ready"
        value={oldest < 0 ? "–" : durationText(oldest * 1_000)}
        note={oldest < 0 ? "nothing waits" : "time it has waited"}
      />
    </SimpleGrid>
  );
}
