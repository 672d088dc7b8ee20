import { Badge, Button, Group, Select, Text, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useState } from "react";
import type { DashboardOverview } from "#shared/protocol/schema/flow.ts";
import type { Workload, WorkloadList } from "#shared/protocol/schema/workload.ts";
import { usePeek } from "../lib/chosen.ts";
import { useFilters } from "../lib/filters.ts";
import { workloadHref } from "../lib/links.ts";
import { useGet } from "../lib/query.ts";
import { countText } from "../lib/units.ts";
import { Beside } from "../parts/beside.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { RowLink } from "../parts/row-link.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import type { Look } from "../parts/status/look.ts";
import { StatusMark } from "../parts/status-mark.tsx";
import { Clip } from "../parts/text.tsx";
import { LastRuns } from "./overview/state-table.tsx";
import { stateOf } from "./workload/state.ts";
import { useSeen } from "./workload/use-seen.ts";
import { CreateDialog } from "./workloads/create.tsx";
import { createCommand } from "./workloads/examples.ts";
import { WorkloadPanel } from "./workloads/workload-panel.tsx";

type Depth = DashboardOverview["queue_depths"][number];
interface Row extends Workload {
  depth: Depth | undefined;
  runs: readonly boolean[];
  rate: number | null;
  look: Look;
}

const count = (key: "pending" | "claimed" | "failed", title: string): Column<Row> => ({
  key,
  title,
  width: "84px",
  align: "end",
  from: key === "failed" ? "sm" : undefined,
  cell: ({ depth }) => countText(depth?.[key]),
});

const COLUMNS: Column<Row>[] = [
  {
    key: "slug",
    title: "Workload",
    width: "minmax(110px, 2fr)",
    cell: ({ slug, name }) => (
      <>
        <RowLink href={workloadHref(slug)}>
          <Clip text={slug} />
        </RowLink>
        {name !== slug && (
          <Text size="xs" c="dimmed" truncate>
            {name}
          </Text>
        )}
      </>
    ),
  },
  {
    key: "state",
    title: "State",
    width: "150px",
    cell: ({ look }) => <StatusMark look={look} />,
  },
  {
    key: "type",
    title: "Executor",
    width: "minmax(110px, 1fr)",
    from: "md",
    cell: ({ executor_type }) => executor_type.replace("_", " "),
  },
  count("pending", "Pending"),
  count("claimed", "Running"),
  count("failed", "Failed"),
  {
    key: "runs",
    title: "Last 20 runs",
    width: "172px",
    from: "md",
    cell: ({ runs, rate }) => <LastRuns runs={runs} rate={rate} />,
  },
  {
    key: "more",
    title: "",
    width: "110px",
    from: "lg",
    cell: ({ supervisor_enabled, schedule }) => (
      <Group gap={4}>
        {supervisor_enabled && (
          <Badge size="xs" variant="default" tt="none">
            supervised
          </Badge>
        )}
        {schedule && (
          <Badge size="xs" variant="default" tt="none" title={schedule}>
            scheduled
          </Badge>
        )}
      </Group>
    ),
  },
];

const matches = (row: Row, q: string, state: string): boolean => {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const text = `${row.slug} ${row.name} ${row.executor_type} ${row.description}`.toLowerCase();
  if (!words.every((word) => text.includes(word))) return false;
  if (state === "on") return row.enabled;
  if (state === "off") return !row.enabled;
  return state !== "failed" || (row.depth?.failed ?? 0) > 0;
};

/** All workloads. */
export function Page() {
  const [{ q, state, create }, set] = useFilters({ q: "", state: "", create: "" });
  const [text, setText] = useState(q);
  const later = useDebouncedCallback((typed: string) => set({ q: typed }), 200);
  const list = useGet("/api/v1/workloads");
  const overview = useGet("/api/v1/dashboard/overview");
  const seen = useSeen();
  const openCreate = () => set({ create: "python_module" }, { push: true });
  const { chosen, choose, close } = usePeek();
  const rowsOf = ({ workloads }: WorkloadList): Row[] =>
    workloads.map((workload) => {
      const { slug, enabled, executor } = workload;
      const runs = seen.summary?.workloads.find((one) => one.slug === slug);
      const depth = overview.data?.queue_depths.find((one) => one.workload === slug);
      const broken = executor.state === "broken";
      return {
        ...workload,
        depth,
        runs: runs?.runs ?? [],
        rate: runs?.success_rate ?? null,
        look: stateOf({ slug, enabled, broken, running: depth?.claimed ?? 0 }, seen),
      };
    });
  const rows = list.data ? rowsOf(list.data) : [];
  const peeked = rows.find(({ slug }) => slug === chosen);
  return (
    <>
      <PageHead title="Workloads">
        <Button onClick={openCreate}>Create a workload</Button>
      </PageHead>
      <Beside
        name="workloads"
        title={chosen}
        detail={
          peeked && (
            <WorkloadPanel
              key={chosen}
              workload={peeked}
              look={peeked.look}
              depth={peeked.depth}
              runs={peeked.runs}
              rate={peeked.rate}
            />
          )
        }
        onClose={close}
      >
        <Loadable query={list}>
          {() => {
            const shown = rows.filter((row) => matches(row, q, state));
            if (rows.length === 0)
              return (
                <Empty title="There is no workload yet" command={createCommand()}>
                  A workload is a queue of tasks and what runs them. The button above creates one,
                  or:
                </Empty>
              );
            return (
              <>
                <Group mb="md" align="end">
                  <TextInput
                    label="Filter"
                    data-filter
                    placeholder="name, executor"
                    value={text}
                    onChange={(event) => {
                      setText(event.currentTarget.value);
                      later(event.currentTarget.value);
                    }}
                  />
                  <Select
                    label="State"
                    placeholder="all"
                    clearable
                    w={160}
                    data={[
                      { value: "on", label: "on" },
                      { value: "off", label: "off" },
                      { value: "failed", label: "has failed tasks" },
                    ]}
                    value={state || null}
                    onChange={(value) => set({ state: value ?? "" })}
                  />
                  <Text size="sm" c="dimmed" pb={6}>
                    {shown.length} of {rows.length}
                  </Text>
                </Group>
                {shown.length === 0 ? (
                  <Empty title="No workload matches">Another filter, or none, may show some.</Empty>
                ) : (
                  <DataTable
                    label="Workloads"
                    columns={COLUMNS}
                    rows={shown}
                    rowKey={({ slug }) => slug}
                    href={({ slug }) => workloadHref(slug)}
                    current={chosen}
                    onOpen={choose && (({ slug }) => choose(slug))}
                  />
                )}
              </>
            );
          }}
        </Loadable>
      </Beside>
      <CreateDialog type={create} onType={(type) => set({ create: type })} />
    </>
  );
}
