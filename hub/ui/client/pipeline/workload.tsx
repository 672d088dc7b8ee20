import { Button, Group, Modal, SimpleGrid, Stack, Tabs, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { QueueCounts } from "#shared/protocol/schema/queue.ts";
import type { Workload } from "#shared/protocol/schema/workload.ts";
import { useFilters } from "../lib/filters.ts";
import { call } from "../lib/http.ts";
import { useGet } from "../lib/query.ts";
import { countText } from "../lib/units.ts";
import { PageHead } from "../parts/page-head.tsx";
import { Loadable } from "../parts/states.tsx";
import { Total } from "./overview/totals.tsx";
import { RunsBeside } from "./run/shown-run.tsx";
import { Charts } from "./workload/charts.tsx";
import { CodeTab } from "./workload/code/code-tab.tsx";
import { CHECK_CALL_MS, TestPanel, useTestRun } from "./workload/code/test-panel.tsx";
import { Versions } from "./workload/code/versions.tsx";
import { Config } from "./workload/config.tsx";
import { ExecutorNote } from "./workload/executor.tsx";
import { DeleteWorkload, Switches } from "./workload/head.tsx";
import { Queue } from "./workload/queue.tsx";
import { QUEUE_TABS, type QueueTab } from "./workload/queue-columns.tsx";
import { useRunsAhead, WorkloadRuns } from "./workload/runs.tsx";
import { ScheduleTab } from "./workload/schedule.tsx";
import { StateChip } from "./workload/state-chip.tsx";
import { Submit } from "./workload/submit.tsx";
import { SupervisionNote } from "./workload/supervision.tsx";

const TABS = [
  { value: "runs", title: "Runs" },
  { value: "ready", title: "Ready" },
  { value: "claimed", title: "Running" },
  { value: "failed", title: "Failed" },
  { value: "delayed", title: "Delayed" },
  { value: "submit", title: "Submit" },
  { value: "code", title: "Code" },
  { value: "versions", title: "Versions" },
  { value: "schedule", title: "Schedule" },
  { value: "settings", title: "Settings" },
];
/** Where one is within a tab. */
const PLACE = { offset: "", page: "", pk: "" };
const isQueue = (tab: string): tab is QueueTab => (QUEUE_TABS as readonly string[]).includes(tab);

function Counts({ counts }: { counts: QueueCounts | undefined }) {
  return (
    <SimpleGrid cols={{ base: 2, sm: 4 }} spacing="xs">
      <Total name="Pending" value={countText(counts?.pending)} note="ready and delayed" />
      <Total name="Running" value={countText(counts?.claimed)} note="claimed by workers" />
      <Total name="Failed" value={countText(counts?.failed)} note="no attempt left" />
      <Total name="In the queue" value={countText(counts?.total)} note="tasks in all" />
    </SimpleGrid>
  );
}

/** Has a worker run one task with the settings as they are saved. */
function TestDialog({ workload: { slug } }: { workload: Workload }) {
  const [opened, { open, close }] = useDisclosure(false);
  const test = useTestRun((task) =>
    call("POST /api/v1/workloads/{slug}/check", {
      params: { slug },
      timeout_ms: CHECK_CALL_MS,
      json: { task },
    }),
  );
  return (
    <>
      <Button onClick={open}>Test the code</Button>
      <Modal opened={opened} onClose={close} title={`Test ${slug}`} size="lg">
        <TestPanel state={test} verb="Run the test" />
      </Modal>
    </>
  );
}

function TabPanel({ tab, workload }: { tab: string; workload: Workload }) {
  const { slug } = workload;
  if (isQueue(tab)) return <Queue key={tab} slug={slug} tab={tab} />;
  if (tab === "submit") return <Submit workload={workload} />;
  if (tab === "code") return <CodeTab workload={workload} />;
  if (tab === "versions") return <Versions workload={workload} />;
  if (tab === "schedule") return <ScheduleTab workload={workload} />;
  if (tab === "settings") return <Config workload={workload} />;
  return <WorkloadRuns slug={slug} />;
}

/** One workload: what waits, runs and failed, how fast, its settings and its switches. */
export function Page({ params }: { params: Record<string, string> }) {
  const slug = params.slug ?? "";
  const [{ tab, span }, set] = useFilters({ ...PLACE, tab: "runs", span: "60" });
  const query = useGet("/api/v1/workloads/{slug}", { params: { slug } });
  const counts = useGet("/api/v1/workloads/{slug}/queue", { params: { slug } });
  useRunsAhead(slug);
  const shown = TABS.some(({ value }) => value === tab) ? tab : "runs";
  return (
    <>
      <PageHead
        title={slug}
        crumbs={[{ title: "Workloads", href: "/ui/pipelines" }]}
        badges={query.data && <StateChip workload={query.data} counts={counts.data} />}
        note={
          query.data && (
            <Text size="sm" className="wrap" component="span">
              {query.data.name !== slug && `${query.data.name} · `}
              {query.data.executor_type.replace("_", " ")}
              {query.data.executor_config.code_version !== undefined &&
                ` · version ${query.data.executor_config.code_version}`}
              {query.data.schedule && ` · ${query.data.schedule} ${query.data.schedule_tz}`}
              {query.data.description && ` · ${query.data.description}`}
            </Text>
          )
        }
      >
        {query.data && (
          <Group gap="md">
            <Switches workload={query.data} />
            <TestDialog workload={query.data} />
            <DeleteWorkload slug={slug} />
          </Group>
        )}
      </PageHead>
      <RunsBeside name="workload">
        <Loadable query={query} lines={10}>
          {(workload) => (
            <Stack gap="md">
              <ExecutorNote
                workload={workload}
                waiting={counts.data?.pending}
                onEdit={() => set({ ...PLACE, tab: "code" })}
              />
              <SupervisionNote slug={slug} />
              <Counts counts={counts.data} />
              <Charts slug={slug} span={span} onSpan={(value) => set({ span: value })} />
              <Tabs
                value={shown}
                keepMounted={false}
                onChange={(value) => set({ ...PLACE, tab: value ?? "runs" })}
              >
                <Tabs.List className="tabs" aria-label="Parts of the workload">
                  {TABS.map(({ value, title }) => (
                    <Tabs.Tab key={value} value={value}>
                      {title}
                      {value === "failed" && counts.data && counts.data.failed > 0
                        ? ` (${countText(counts.data.failed)})`
                        : ""}
                    </Tabs.Tab>
                  ))}
                </Tabs.List>
                <Tabs.Panel value={shown} pt="md">
                  <TabPanel tab={shown} workload={workload} />
                </Tabs.Panel>
              </Tabs>
            </Stack>
          )}
        </Loadable>
      </RunsBeside>
    </>
  );
}
