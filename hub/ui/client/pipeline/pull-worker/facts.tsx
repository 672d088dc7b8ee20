import { Alert, SimpleGrid, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import type { GpuReading, PullWorker } from "#shared/protocol/schema/pull.ts";
import { info } from "../../lib/info.ts";
import { bytesText } from "../../lib/units.ts";
import { Ago } from "../../parts/text.tsx";
import { Share } from "./share.tsx";

const MB = 1_000_000;
const memoryOf = ({ mem_used_mb, mem_total_mb }: GpuReading): number | null =>
  mem_used_mb !== null && mem_total_mb ? (100 * mem_used_mb) / mem_total_mb : null;
const bytesOfMb = (mb: number | null) => bytesText(mb === null ? null : mb * MB);

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <Text size="xs" c="dimmed">
        {name}
      </Text>
      <Text size="sm" component="div" className="wrap">
        {children}
      </Text>
    </div>
  );
}

/** Use and memory of the GPUs that a host reports. */
export function Gpus({ gpus }: { gpus: readonly GpuReading[] }) {
  return (
    <Stack gap="xs">
      {gpus.map((gpu) => (
        <SimpleGrid key={gpu.index} cols={{ base: 1, xs: 3 }} spacing="xs">
          <Text size="sm" className="wrap">
            GPU {gpu.index}: {gpu.name}
          </Text>
          <Share
            label="Use of the GPU"
            percent={gpu.util_percent}
            text={
              gpu.util_percent === null ? undefined : `${Math.round(gpu.util_percent)} % in use`
            }
          />
          <Share
            label="Memory of the GPU"
            percent={memoryOf(gpu)}
            text={`${bytesOfMb(gpu.mem_used_mb)} of ${bytesOfMb(gpu.mem_total_mb)}`}
          />
        </SimpleGrid>
      ))}
    </Stack>
  );
}

export function Facts({ worker }: { worker: PullWorker }) {
  const labels = Object.entries(worker.labels);
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 2, xs: 3 }} spacing="sm" verticalSpacing="sm">
        <Fact name="Host">{worker.host}</Fact>
        <Fact name="Version">
          {worker.version || "–"}
          {worker.version !== info.version && (
            <Text size="xs" c="dimmed">
              the server has {info.version}
            </Text>
          )}
        </Fact>
        <Fact name="Slots">
          {worker.in_flight} of {worker.slots} in use
        </Fact>
        <Fact name="Started">
          <Ago at={worker.started_at} />
        </Fact>
        <Fact name="Last heartbeat">
          <Ago at={worker.last_heartbeat_at} />
        </Fact>
        <Fact name="Labels">
          {labels.length === 0 ? "–" : labels.map(([name, value]) => `${name}=${value}`).join(", ")}
        </Fact>
      </SimpleGrid>
      <SimpleGrid cols={3} spacing="sm">
        <Fact name="CPU, the worker">
          <Share label="CPU of the worker" percent={worker.cpu_percent} />
        </Fact>
        <Fact name="CPU, its host">
          <Share label="CPU of the host" percent={worker.host_cpu_percent} />
        </Fact>
        <Fact name="Memory, its host">
          <Share label="Memory of the host" percent={worker.mem_percent} />
        </Fact>
      </SimpleGrid>
      {worker.broken.map(({ workload, error, since }) => (
        <Alert key={workload} color="red" title={`The code of ${workload} does not load here`}>
          <Text size="sm" className="wrap">
            {error} (since <Ago at={since} />)
          </Text>
        </Alert>
      ))}
      {worker.gpus.length > 0 && <Gpus gpus={worker.gpus} />}
    </Stack>
  );
}
