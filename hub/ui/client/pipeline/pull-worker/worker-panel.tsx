import { Alert, Stack, Title } from "@mantine/core";
import type { PullWorker } from "#shared/protocol/schema/pull.ts";
import { Commands } from "./commands.tsx";
import { Facts } from "./facts.tsx";
import { FilterEditor } from "./filter-editor.tsx";
import { HeldTasks } from "./leases.tsx";

/** Everything about one pipeline worker. */
export function WorkerPanel({ worker }: { worker: PullWorker | undefined }) {
  if (worker === undefined)
    return <Alert color="yellow">There is no worker with this name, or no longer.</Alert>;
  return (
    <Stack gap="lg">
      {worker.state === "offline" && (
        <Alert color="red" role="status">
          Nothing has been heard from it for more than 30 s. Its tasks go to other workers when
          their leases end.
        </Alert>
      )}
      <Commands worker={worker} />
      <Facts worker={worker} />
      <Stack gap="xs">
        <Title order={3} size="h5">
          Tasks it holds
        </Title>
        <HeldTasks id={worker.id} />
      </Stack>
      <Stack gap="xs">
        <Title order={3} size="h5">
          Workloads it runs
        </Title>
        <FilterEditor key={worker.id} worker={worker} />
      </Stack>
    </Stack>
  );
}
