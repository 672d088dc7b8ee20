import { Badge, Button, Group, MultiSelect, SegmentedControl, Stack, Text } from "@mantine/core";
import { useState } from "react";
import type { ChangeFilter, PullWorker } from "#shared/protocol/schema/pull.ts";
import { call } from "../../lib/http.ts";
import { useChange, useGet } from "../../lib/query.ts";
import { ConfirmButton } from "../../parts/confirm.tsx";

const OPS: { value: ChangeFilter["op"]; label: string }[] = [
  { value: "add", label: "Add" },
  { value: "remove", label: "Remove" },
  { value: "replace", label: "Replace" },
];

/** Which workloads a worker runs; a change takes effect at its next claim. */
export function FilterEditor({ worker: { id, filter, workloads } }: { worker: PullWorker }) {
  const [op, setOp] = useState<ChangeFilter["op"]>("add");
  const [chosen, setChosen] = useState<string[]>([]);
  const all = useGet("/api/v1/workloads");
  const change = useChange(
    (json: ChangeFilter) => call("POST /api/v1/workers/{id}/filter", { params: { id }, json }),
    {
      done: (after) =>
        `${id} runs ${after.filter === null ? "every workload" : after.filter.join(", ") || "nothing"}`,
      failed: "The filter was not changed",
      onDone: () => setChosen([]),
    },
  );
  const known = (all.data?.workloads ?? []).map(({ slug }) => slug);
  // Removing from "every workload" leaves the others that are there now.
  const options = op === "remove" && filter !== null ? filter : [...new Set([...known, ...chosen])];
  return (
    <Stack gap="xs">
      <Group gap={4} aria-label="Filter">
        {filter === null && <Text size="sm">Every workload, including those created later.</Text>}
        {filter?.length === 0 && <Text size="sm">None: it runs nothing.</Text>}
        {filter?.map((slug) => (
          <Badge
            key={slug}
            variant="light"
            className="status"
            color={workloads.includes(slug) ? "blue" : "gray"}
          >
            {workloads.includes(slug) ? slug : `${slug} (not now)`}
          </Badge>
        ))}
      </Group>
      {filter?.some((slug) => !workloads.includes(slug)) && (
        <Text size="xs" c="dimmed">
          “Not now”: switched off, deleted, or bound to other hosts.
        </Text>
      )}
      <Group gap="xs" align="flex-end">
        <SegmentedControl
          size="xs"
          data={OPS}
          value={op}
          onChange={(value) => {
            setOp(value as ChangeFilter["op"]);
            setChosen([]);
          }}
          aria-label="What to do with the workloads"
        />
        <MultiSelect
          size="xs"
          miw={200}
          flex={1}
          label="Workloads"
          data={options}
          value={chosen}
          onChange={setChosen}
          searchable
          clearable
          nothingFoundMessage="No such workload"
        />
        <Button
          size="xs"
          disabled={chosen.length === 0}
          loading={change.isPending}
          onClick={() => change.mutate({ op, workloads: chosen })}
        >
          Change the filter
        </Button>
      </Group>
      {filter !== null && (
        <Group>
          <ConfirmButton
            size="xs"
            question={`Let ${id} run every workload?`}
            text="Its filter is removed."
            confirm="Run every workload"
            onConfirm={() => change.mutate({ op: "replace", workloads: [] })}
          >
            Run every workload
          </ConfirmButton>
        </Group>
      )}
    </Stack>
  );
}
