import { Anchor, Group, Text } from "@mantine/core";
import { Link } from "wouter";
import type { Instance } from "#shared/protocol/schema/agent.ts";
import { call } from "../../lib/http.ts";
import { workersHref } from "../../lib/links.ts";
import { useChange } from "../../lib/query.ts";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Ago, Clip, Status } from "../../parts/text.tsx";

export type StopWhat = { instance_id: string } | { host: string; count: number };

/** Takes instances out of what should run; the agent drains and ends them (rules/pipeline-agents#stop-instances). */
export const useStop = () =>
  useChange((json: StopWhat) => call("POST /api/v1/workers/elastic/stop", { json }), {
    done: ({ instances }) =>
      instances.length === 0
        ? "There was nothing to stop there"
        : `${instances.map(({ instance_id }) => instance_id).join(", ")}: drained and ended by the agent`,
    failed: "No instance was stopped",
  });

function StopOne({ instance_id }: Instance) {
  const stop = useStop();
  return (
    <ConfirmButton
      size="compact-xs"
      question={`Stop ${instance_id}?`}
      text="It takes no new tasks, finishes what it runs, and is not restarted."
      confirm="Stop it"
      loading={stop.isPending}
      onConfirm={() => stop.mutate({ instance_id })}
    >
      Stop
    </ConfirmButton>
  );
}

const COLUMNS: Column<Instance>[] = [
  {
    key: "id",
    title: "Instance",
    width: "minmax(130px, 2fr)",
    cell: ({ instance_id, worker_id }) =>
      worker_id === null ? (
        <Clip text={instance_id} mono />
      ) : (
        <Anchor
          component={Link}
          href={workersHref("pipeline", { worker: worker_id })}
          size="sm"
          ff="monospace"
          truncate
          display="block"
        >
          {instance_id}
        </Anchor>
      ),
  },
  {
    key: "host",
    title: "Host",
    width: "minmax(80px, 1fr)",
    from: "sm",
    cell: ({ host }) => <Clip text={host} />,
  },
  {
    key: "desired",
    title: "Should be",
    width: "96px",
    from: "sm",
    cell: ({ desired }) => desired,
  },
  {
    key: "actual",
    title: "Is",
    width: "minmax(92px, 150px)",
    cell: ({ actual, exit_code }) => (
      <Group gap={4} wrap="nowrap">
        <Status value={actual} />
        {exit_code !== null && (
          <Text size="xs" c="dimmed" truncate title={`Exit code ${exit_code}`}>
            exit {exit_code}
          </Text>
        )}
      </Group>
    ),
  },
  {
    key: "pid",
    title: "PID",
    width: "72px",
    align: "end",
    from: "md",
    cell: ({ pid }) => pid ?? "–",
  },
  {
    key: "started",
    title: "Started",
    width: "132px",
    from: "md",
    cell: ({ started_at }) => <Ago at={started_at} />,
  },
  {
    key: "stop",
    title: "",
    width: "72px",
    align: "end",
    cell: (row) => (row.desired === "running" ? <StopOne {...row} /> : null),
  },
];

export function Instances({ rows }: { rows: readonly Instance[] }) {
  return (
    <DataTable
      label="Worker instances"
      columns={COLUMNS}
      rows={rows}
      rowKey={({ host, instance_id }) => `${host} ${instance_id}`}
    />
  );
}
