import { Button, Group, Select, TextInput } from "@mantine/core";
import type { Worker } from "#shared/protocol/schema/worker.ts";
import { countStates, type WallFilter, type WallLane } from "./lanes.ts";

interface FilterBarProps {
  lanes: readonly WallLane[];
  workers: readonly Worker[];
  filter: WallFilter;
  onChange: (changed: Partial<WallFilter>) => void;
}

/** Counts of lanes by state, each of which shows only its lanes, and the other filters. */
export function FilterBar({ lanes, workers, filter, onChange }: FilterBarProps) {
  const states = countStates(lanes);
  if (filter.state !== "" && !states.some(([state]) => state === filter.state))
    states.push([filter.state, 0]);
  return (
    <Group gap="xs" mb="md" align="flex-end">
      <Group gap={4} role="group" aria-label="Lanes by state">
        {[["", lanes.length] as [string, number], ...states].map(([state, count]) => (
          <Button
            key={state}
            size="xs"
            variant={filter.state === state ? "filled" : "default"}
            aria-pressed={filter.state === state}
            onClick={() => onChange({ state: filter.state === state ? "" : state })}
          >
            {`${count} ${state || (count === 1 ? "lane" : "lanes")}`}
          </Button>
        ))}
      </Group>
      <Select
        size="xs"
        w={180}
        aria-label="Worker"
        placeholder="Every worker"
        clearable
        searchable={workers.length > 8}
        value={filter.worker || null}
        onChange={(worker) => onChange({ worker: worker ?? "" })}
        data={workers.map(({ worker_id }) => worker_id)}
      />
      <TextInput
        size="xs"
        w={180}
        data-filter
        aria-label="Title, address or id"
        placeholder="Title, address or id"
        value={filter.q}
        onChange={(event) => onChange({ q: event.currentTarget.value })}
      />
    </Group>
  );
}
