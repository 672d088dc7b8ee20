import { Button, Group } from "@mantine/core";
import type { PullWorker, WorkerCommand } from "#shared/protocol/schema/pull.ts";
import { call } from "../../lib/http.ts";
import { useChange } from "../../lib/query.ts";
import { ConfirmButton } from "../../parts/confirm.tsx";

const DONE: Record<WorkerCommand["command"], string> = {
  drain: "takes no new tasks",
  resume: "takes tasks again",
  recycle: "replaces its warm processes before their next task",
  stop: "drains and ends with its next heartbeat",
};

/** What an operator may tell a worker (rules/pipeline-pull#commands-to-a-worker), and its restart over SSH. */
export function Commands({ worker: { id, host, state } }: { worker: PullWorker }) {
  const tell = useChange(
    (command: WorkerCommand["command"]) =>
      call("POST /api/v1/workers/{id}/admin-command", { params: { id }, json: { command } }),
    { done: (_, command) => `${id} ${DONE[command]}`, failed: "The command was not sent" },
  );
  const restart = useChange(() => call("POST /api/v1/workers/{id}/restart", { params: { id } }), {
    done: `The restart of ${id} has begun; its result is in the service logs`,
    failed: "The worker was not restarted",
  });
  const busy = (command: WorkerCommand["command"]) => tell.isPending && tell.variables === command;
  return (
    <Group gap="xs">
      {state === "draining" ? (
        <Button size="xs" loading={busy("resume")} onClick={() => tell.mutate("resume")}>
          Resume
        </Button>
      ) : (
        <Button
          size="xs"
          variant="default"
          loading={busy("drain")}
          onClick={() => tell.mutate("drain")}
        >
          Drain
        </Button>
      )}
      <Button
        size="xs"
        variant="default"
        loading={busy("recycle")}
        onClick={() => tell.mutate("recycle")}
      >
        Recycle processes
      </Button>
      <ConfirmButton
        size="xs"
        question={`Stop ${id}?`}
        text="It takes no new tasks, finishes what it runs, and its process ends. A supervisor on its host may start it again."
        loading={busy("stop")}
        onConfirm={() => tell.mutate("stop")}
      >
        Stop
      </ConfirmButton>
      <ConfirmButton
        size="xs"
        question={`Restart ${id} over SSH?`}
        text={`The SVC_RESTART_ARGV command restarts it on ${host}; only the administrator may do this. Its running tasks may be lost and are then retried.`}
        confirm="Restart it"
        loading={restart.isPending}
        onConfirm={() => restart.mutate(undefined)}
      >
        Restart over SSH
      </ConfirmButton>
    </Group>
  );
}
