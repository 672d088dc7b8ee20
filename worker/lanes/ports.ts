import type { WorkerConfig } from "../config.ts";

/** CDP, VNC and viewer ports of every lane (fleet spec §2.5): jobs must not open them. */
export function lanePorts({ lanes, novnc }: WorkerConfig): number[] {
  return Array.from({ length: lanes.count }, (_, i) => [
    lanes.cdp_port_base + i,
    lanes.vnc_port_base + i,
    novnc.base_port + i,
  ]).flat();
}
