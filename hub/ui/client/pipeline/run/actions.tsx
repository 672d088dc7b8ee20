import { Button, Group } from "@mantine/core";
import { Link } from "wouter";
import type { TaskHistory } from "#shared/protocol/schema/queue.ts";
import { call } from "../../lib/http.ts";
import { workloadHref } from "../../lib/links.ts";
import { useChange } from "../../lib/query.ts";
import { ConfirmButton } from "../../parts/confirm.tsx";

/** What can be done with a task, by where it is. */
export function TaskActions({ history: { workload, pk, task } }: { history: TaskHistory }) {
  const retry = useChange(
    () =>
      call("POST /api/v1/workloads/{slug}/queue/{pk}/reset", { params: { slug: workload, pk } }),
    {
      done: "The task is ready again",
      failed: "The task was not retried",
    },
  );
  const remove = useChange(
    () => call("DELETE /api/v1/workloads/{slug}/queue/{pk}", { params: { slug: workload, pk } }),
    {
      done: task?.state === "claimed" ? "The task was cancelled" : "The task was deleted",
      failed: "The task is still there",
    },
  );
  if (workload === "(deleted)") return null;
  return (
    <Group gap="xs">
      {task?.state === "failed" && (
        <Button size="xs" loading={retry.isPending} onClick={() => retry.mutate(undefined)}>
          Retry
        </Button>
      )}
      {task?.state === "claimed" && (
        <ConfirmButton
          size="xs"
          question="Cancel this task?"
          text="Its worker stops it; the run ends as cancelled and the task leaves the queue."
          confirm="Cancel the task"
          loading={remove.isPending}
          onConfirm={() => remove.mutate(undefined)}
        >
          Cancel
        </ConfirmButton>
      )}
      {(task?.state === "failed" || task?.state === "pending") && (
        <ConfirmButton
          size="xs"
          question="Delete this task?"
          text="It leaves the queue without being run. Its earlier runs stay."
          confirm="Delete the task"
          loading={remove.isPending}
          onConfirm={() => remove.mutate(undefined)}
        >
          Delete
        </ConfirmButton>
      )}
      {task === null && (
        <Button
          size="xs"
          variant="default"
          component={Link}
          href={workloadHref(workload, { tab: "submit", pk: pk })}
        >
          Submit again…
        </Button>
      )}
    </Group>
  );
}
