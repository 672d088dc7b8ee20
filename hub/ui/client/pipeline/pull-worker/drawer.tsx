import { Alert, Drawer, Group, Stack, Text, Title } from "@mantine/core";
import type { PullWorker } from "#shared/protocol/schema/pull.ts";
import { workerLook } from "../../parts/status/worker.ts";
import { StatusMark } from "../../parts/status-mark.tsx";
import { Commands } from "./commands.tsx";
import { Facts } from "./facts.tsx";
import { FilterEditor } from "./filter-editor.tsx";
import { HeldTasks } from "./leases.tsx";

interface WorkerDrawerProps {
  /** "" is none. */
  id: string;
  worker: PullWorker | undefined;
  onClose: () => void;
}

/** Everything about one pipeline worker. */
export function WorkerDrawer({ id, worker, onClose }: WorkerDrawerProps) {
  return (
    <Drawer
      opened={id !== ""}
      onClose={onClose}
      position="right"
      size={640}
      title={
        <Group gap="xs">
          <Text fw={600} className="wrap">
            {id}
          </Text>
          {worker && <StatusMark look={workerLook(worker)} />}
        </Group>
      }
    >
      {worker === undefined ? (
        <Alert color="yellow">There is no worker with this name, or no longer.</Alert>
      ) : (
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
            <Title order={2} size="h5">
              Tasks it holds
            </Title>
            <HeldTasks id={worker.id} />
          </Stack>
          <Stack gap="xs">
            <Title order={2} size="h5">
              Workloads it runs
            </Title>
            <FilterEditor key={worker.id} worker={worker} />
          </Stack>
        </Stack>
      )}
    </Drawer>
  );
}
