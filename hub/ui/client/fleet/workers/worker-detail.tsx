import { Alert, Box, Stack, Text, Title } from "@mantine/core";
import type { Worker } from "#shared/protocol/schema/worker.ts";
import { call } from "../../lib/http.ts";
import { useChange } from "../../lib/query.ts";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { Fact, FactList } from "../../parts/facts.tsx";
import { Ago } from "../../parts/text.tsx";
import { updateColor } from "../../parts/updates/update-words.ts";
import { LaneList } from "./lane-list.tsx";
import { LoadBar } from "./load-bar.tsx";
import { StatusSwitch } from "./status-switch.tsx";
import { isSkewed, nextOfUpdate } from "./version.ts";

interface WorkerDetailProps {
  worker: Worker;
  hub_version: string;
  onForgotten: () => void;
}

const STATUS_TEXTS: Record<Worker["status"], string> = {
  active: "It takes jobs and sessions.",
  drain: "It finishes what runs and takes nothing new.",
  standby: "It stays connected and takes nothing.",
};

/** All of one browser worker. */
export function WorkerDetail({ worker, hub_version, onForgotten }: WorkerDetailProps) {
  const { capabilities, profiles } = worker;
  const loads = [
    ["CPU", worker.cpu_percent],
    ["Memory", worker.mem_percent],
    ["Disk", worker.disk_pct],
  ] as const;
  return (
    <Stack gap="lg">
      {!worker.alive && <Gone worker={worker} onForgotten={onForgotten} />}
      <Box>
        <StatusSwitch worker={worker} />
        <Text size="sm" c="dimmed" mt={4}>
          {STATUS_TEXTS[worker.status]}
        </Text>
      </Box>
      {(worker.update || isSkewed(worker, hub_version)) && (
        <Alert
          color={updateColor(worker.update)}
          role="status"
          title={`Its version is ${worker.version}, the hub's is ${hub_version}`}
          className="wrap"
        >
          {nextOfUpdate(worker)}
          {worker.update?.since && (
            <Text size="xs" mt={4}>
              This began <Ago at={worker.update.since} />.
            </Text>
          )}
        </Alert>
      )}
      <FactList label="Worker">
        <Fact name="Host">{worker.hostname}</Fact>
        <Fact name="Address">{worker.address}</Fact>
        <Fact name="Version">{worker.version}</Fact>
        <Fact name="Browser">{capabilities.browser ?? "–"}</Fact>
        <Fact name="Connected">
          <Ago at={worker.connected_at} />
        </Fact>
        <Fact name="Last heartbeat">
          <Ago at={worker.last_heartbeat_at} />
        </Fact>
        <Fact name="Linked to hub">{worker.link_hub ?? "–"}</Fact>
        <Fact name="Jobs and sessions">
          {worker.in_flight} of at most {capabilities.max_concurrent}
        </Fact>
        <Fact name="Capture">
          {capabilities.capture === "durable"
            ? "durable: captured data survives a worker crash"
            : "buffered: captured data is lost in a worker crash"}
        </Fact>
        {loads.map(([name, percent]) => (
          <Fact key={name} name={name}>
            <LoadBar label={`${name} of ${worker.worker_id}`} percent={percent} />
          </Fact>
        ))}
        <Fact name="Profiles on it">{profiles.length === 0 ? "none" : profiles.join(", ")}</Fact>
      </FactList>
      <Box component="section">
        <Title order={3} size="h5" mb={4}>
          {worker.lanes.length === 1 ? "1 lane" : `${worker.lanes.length} lanes`}
        </Title>
        <LaneList lanes={worker.lanes} />
      </Box>
    </Stack>
  );
}

function Gone({
  worker: { worker_id, last_heartbeat_at },
  onForgotten,
}: Omit<WorkerDetailProps, "hub_version">) {
  const forget = useChange(() => call("DELETE /workers/{id}", { params: { id: worker_id } }), {
    done: `Worker ${worker_id} is forgotten`,
    failed: `Worker ${worker_id} was not forgotten`,
    onDone: onForgotten,
  });
  return (
    <Alert color="gray" title="It is not connected" role="status">
      <Stack gap="xs" align="flex-start">
        <Text size="sm">
          It was last heard from <Ago at={last_heartbeat_at} />. It comes back by itself when it
          starts; its status is kept.
        </Text>
        <ConfirmButton
          size="xs"
          question={`Forget worker ${worker_id}?`}
          text="Its status is forgotten too. If it connects again, it is a new worker."
          loading={forget.isPending}
          onConfirm={() => forget.mutate(undefined)}
        >
          Forget this worker
        </ConfirmButton>
      </Stack>
    </Alert>
  );
}
