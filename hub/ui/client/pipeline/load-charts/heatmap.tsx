import { SimpleGrid, Text } from "@mantine/core";
import { useLocation } from "wouter";
import { workersHref } from "../../lib/links.ts";

export interface HostLoad {
  host: string;
  cpu_percent: number | null;
  workers: number;
  /** The busiest of its GPUs. */
  gpu_percent: number | null;
}

const stepOf = (percent: number | null): string =>
  percent === null ? "none" : percent >= 90 ? "4" : percent >= 70 ? "3" : percent >= 40 ? "2" : "1";
const text = (percent: number | null) => (percent === null ? "–" : `${Math.round(percent)} %`);

/** A box for each host: the busier, the darker; each links to the host's workers. */
export function Heatmap({ hosts }: { hosts: readonly HostLoad[] }) {
  const [, navigate] = useLocation();
  return (
    <SimpleGrid cols={{ base: 2, xs: 3, sm: 4, lg: 6 }} spacing="xs">
      {hosts.map(({ host, cpu_percent, workers, gpu_percent }) => (
        <button
          key={host}
          type="button"
          className="heat"
          data-step={stepOf(cpu_percent)}
          onClick={() => navigate(workersHref("pipeline", { q: host }))}
        >
          <Text component="span" size="sm" fw={600} truncate display="block" title={host}>
            {host}
          </Text>
          <Text component="span" size="xs" className="nums">
            CPU {text(cpu_percent)}
            {gpu_percent !== null && `, GPU ${text(gpu_percent)}`}, {workers}{" "}
            {workers === 1 ? "worker" : "workers"}
          </Text>
        </button>
      ))}
    </SimpleGrid>
  );
}
