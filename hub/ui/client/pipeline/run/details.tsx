import { Alert, Anchor, Code, Stack, Text, Title } from "@mantine/core";
import { Link } from "wouter";
import type { QueueRow } from "#shared/protocol/schema/queue.ts";
import { serverNow } from "../../lib/connection.ts";
import { withQuery } from "../../lib/http.ts";
import { workloadHref } from "../../lib/links.ts";
import { useNow } from "../../lib/now.ts";
import { useGet } from "../../lib/query.ts";
import { durationText, timeText } from "../../lib/units.ts";
import { Fact, FactList } from "../../parts/facts.tsx";
import { LabelLinks } from "../../parts/labels.tsx";
import { Loadable } from "../../parts/states.tsx";
import { taskLook } from "../../parts/status/task.ts";
import { StatusMark } from "../../parts/status-mark.tsx";
import { Ago } from "../../parts/text.tsx";
import type { QueueTab } from "../workload/queue-columns.tsx";
import { JsonTree } from "./json-tree.tsx";
import { NotesOf } from "./notes.tsx";
import { Stream } from "./stream.tsx";

/** How often a worker reports what its running tasks print. */
const TAIL_EVERY_MS = 1_500;

const runsOf = (label: string) => withQuery("/ui/pipelines/runs", { label });

/** An attempt that ended: why, what it put out, what it printed. */
export function RunDetails({ run_id }: { run_id: string }) {
  const query = useGet("/api/v1/runs/{run_id}", { params: { run_id } }, { refetchInterval: false });
  return (
    <Loadable query={query}>
      {(run) => (
        <Stack gap="md">
          {run.error !== null && (
            <Alert color="red" title={`Ended with ${run.outcome.replaceAll("_", " ")}`}>
              <Text size="sm" className="wrap" ff="monospace">
                {run.error}
              </Text>
              {run.fingerprint !== null && (
                <Anchor
                  component={Link}
                  size="sm"
                  href={withQuery("/ui/pipelines/failures", { group: run.fingerprint })}
                >
                  What failed alike
                </Anchor>
              )}
            </Alert>
          )}
          {/* Most have their traceback there. */}
          {run.error !== null && <Stream name="stderr" text={run.stderr} />}
          {run.truncated && (
            <Alert color="yellow" role="note">
              It printed more than is kept: the first and the last 256 KB of each stream are here.
            </Alert>
          )}
          <FactList label={`Run ${run.run_id}`}>
            <Fact name="Run" copy={String(run.run_id)}>
              {run.run_id}
            </Fact>
            <Fact name="Worker">{run.worker_id ?? "–"}</Fact>
            <Fact name="Started">{timeText(run.started_at)}</Fact>
            <Fact name="Took">{durationText(run.duration_ms)}</Fact>
            <Fact name="Labels">
              <LabelLinks labels={run.labels} hrefOf={runsOf} />
            </Fact>
          </FactList>
          <NotesOf notes={run} />
          <section aria-label="Output">
            <Title order={3} size="h6" mb={4}>
              Output
            </Title>
            <JsonTree label="Output" value={run.output_json} />
          </section>
          <Stream name="stdout" text={run.stdout} />
          {run.error === null && <Stream name="stderr" text={run.stderr} />}
        </Stack>
      )}
    </Loadable>
  );
}

/** The attempt that runs now, with the end of what it printed so far. */
export function LiveDetails({ workload, task }: { workload: string; task: QueueRow }) {
  const { worker_id, pk } = task;
  const query = useGet(
    "/api/v1/workers/{id}/runs",
    { params: { id: worker_id ?? "" } },
    { enabled: worker_id !== null, refetchInterval: TAIL_EVERY_MS, retry: false },
  );
  const run = query.data?.runs.find((one) => one.workload === workload && one.pk === pk);
  return (
    <Stack gap="md">
      <Text size="sm" c="dimmed">
        {query.data?.at ? (
          <>
            The last 8 KB of each stream, as the worker reported them <Ago at={query.data.at} />.
          </>
        ) : (
          "The worker reports what it prints every few seconds."
        )}
      </Text>
      {run && <NotesOf notes={run} live />}
      <Stream name="stdout" text={run?.stdout ?? ""} live />
      <Stream name="stderr" text={run?.stderr ?? ""} live />
    </Stack>
  );
}

/** The part of its workload's queue that has it. */
function tabOf({ state, run_at }: QueueRow): QueueTab {
  if (state !== "pending") return state;
  return Date.parse(run_at) > serverNow() ? "delayed" : "ready";
}

/** A task that waits or has failed: what it was submitted with. */
export function TaskFacts({ workload, task }: { workload: string; task: QueueRow }) {
  const now = useNow();
  const tasksOf = (label: string) => workloadHref(workload, { tab: tabOf(task), label });
  return (
    <Stack gap="xs">
      <FactList label="Task">
        <Fact name="State">
          <StatusMark look={taskLook(task, now)} value={task.state} />
        </Fact>
        <Fact name="Attempts">
          {task.attempt} of {task.max_attempts}
        </Fact>
        <Fact name="Priority">{task.priority}</Fact>
        <Fact name="Labels">
          <LabelLinks labels={task.labels} hrefOf={tasksOf} />
        </Fact>
        <Fact name="Submitted">
          <Ago at={task.created_at} />
        </Fact>
        {task.state === "pending" && (
          <Fact name="May run">
            <Ago at={task.run_at} />
          </Fact>
        )}
        {task.lease_until && task.state === "claimed" && (
          <Fact name="Lease ends">
            <Ago at={task.lease_until} />
          </Fact>
        )}
        {task.last_error && (
          <Fact name="Last error">
            <Code className="wrap">{task.last_error}</Code>
          </Fact>
        )}
      </FactList>
      {task.extra !== null && (
        <section aria-label="Extra">
          <Title order={3} size="h6" mb={4}>
            Extra
          </Title>
          <JsonTree label="Extra" value={task.extra} />
        </section>
      )}
    </Stack>
  );
}
