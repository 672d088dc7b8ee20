import { Anchor, Group, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { Link } from "wouter";
import type { TaskHistory } from "#shared/protocol/schema/queue.ts";
import { workloadHref } from "../../lib/links.ts";
import { useGet } from "../../lib/query.ts";
import { Beside } from "../../parts/beside.tsx";
import { SidePanel } from "../../parts/side-panel.tsx";
import { Loadable } from "../../parts/states.tsx";
import { TaskActions } from "./actions.tsx";
import { useShown } from "./address.ts";
import { LiveDetails, RunDetails, TaskFacts } from "./details.tsx";
import { Timeline } from "./timeline.tsx";

function History({ history }: { history: TaskHistory }) {
  const { run, showRun, showTask } = useShown();
  const { workload, pk, task, attempts } = history;
  // A task that has ended meanwhile shows how.
  const last = task === null ? String(attempts.at(-1)?.run_id ?? "") : "";
  const shown = run || last;
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          Task of{" "}
          <Anchor component={Link} href={workloadHref(workload)} inherit underline="always">
            {workload}
          </Anchor>
        </Text>
        <TaskActions history={history} />
      </Group>
      <Timeline
        history={history}
        shown={shown}
        onShow={(id) => (id === null ? showTask(workload, pk) : showRun(id))}
      />
      {shown === "" && task?.state === "claimed" && <LiveDetails workload={workload} task={task} />}
      {shown !== "" && <RunDetails key={shown} run_id={shown} />}
      {task && <TaskFacts workload={workload} task={task} />}
    </Stack>
  );
}

const EVERY_MS = 2_000;

/** The run or the task that the address names, and what it is called. */
function useShownRun() {
  const { run, task, close } = useShown();
  const opened = run !== "" || task !== null;
  const { workload: slug = "", pk = "" } = task ?? {};
  const by_run = useGet(
    "/api/v1/runs/{run_id}/task",
    { params: { run_id: run } },
    { enabled: opened && task === null, refetchInterval: EVERY_MS },
  );
  const by_key = useGet(
    "/api/v1/workloads/{slug}/tasks/{pk}",
    { params: { slug, pk } },
    { enabled: task !== null, refetchInterval: EVERY_MS },
  );
  const query = task === null ? by_run : by_key;
  // What is read for another address is not shown under this one.
  const fits = task === null ? !query.isPlaceholderData : query.data?.pk === task.pk;
  const title = (fits && query.data?.pk) || task?.pk || (run && `Run ${run}`) || "Run";
  const detail = <Loadable query={query}>{(history) => <History history={history} />}</Loadable>;
  return { title, detail: opened && detail, close };
}

/** Runs or tasks, and beside them the one that the address names. */
export function RunsBeside({ name, children }: { name: string; children: ReactNode }) {
  const { title, detail, close } = useShownRun();
  return (
    <Beside name={name} usual={500} title={title} detail={detail} onClose={close}>
      {children}
    </Beside>
  );
}

/** A run over a page that is no list of runs. */
export function RunDrawer() {
  const { title, detail, close } = useShownRun();
  return (
    <SidePanel title={title} opened={Boolean(detail)} onClose={close} size={760}>
      {detail}
    </SidePanel>
  );
}
