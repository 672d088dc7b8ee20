import type { EgressReport } from "#shared/protocol/egress-cover.ts";
import { placeOfUrl } from "#shared/protocol/egress-rules.ts";
import type { FleetPlace } from "#shared/protocol/link/messages.ts";
import type { WorkerConfig } from "#worker/config.ts";
import type { EgressSettings } from "./egress.ts";

const dialled = (url: string | null, is: FleetPlace["is"]): FleetPlace[] => {
  if (url === null || !URL.canParse(url)) return [];
  const { host, port } = placeOfUrl(url);
  return [{ host, from: port, to: port, is }];
};

/**
 * CDP, VNC and viewer ports of every lane (rules/lanes#ports-of-a-lane), and the worker's own for metrics: jobs must not
 * open them.
 */
export function lanePorts({ lanes, novnc, metrics }: WorkerConfig): number[] {
  const ports = Array.from({ length: lanes.count }, (_, i) => [
    lanes.cdp_port_base + i,
    lanes.vnc_port_base + i,
    novnc.base_port + i,
  ]).flat();
  return metrics.address === null ? ports : [...ports, metrics.address.port];
}

export const egressSettings = (config: WorkerConfig): EgressSettings => ({
  ...config.egress,
  navigation_block: config.fetch.navigation_block,
  lane_ports: lanePorts(config),
  dialled: [...dialled(config.hub_url, "hub"), ...dialled(config.pipeline.control_url, "control")],
});

/** The part that is reported to the hub, so that it assigns no job to a worker that would refuse its destination. */
export const egressReport = ({ egress, fetch }: WorkerConfig): EgressReport => ({
  mode: egress.mode,
  allow: [...egress.allow],
  deny: [...egress.deny],
  block: [...fetch.navigation_block],
});
