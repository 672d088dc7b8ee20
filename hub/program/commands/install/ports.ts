import { CDP_PORT_BASE, DISPLAY_BASE, VNC_PORT_BASE } from "#shared/protocol/limits.ts";

const VIEWER_PORT_BASE = 6080;
/** Distance between the ports of two workers: their three ranges of 100 lanes never overlap. */
const PORT_STEP = 1_000;
const DISPLAY_STEP = 100;
const MAX_BLOCKS = 50;

const baseOf = (values: Record<string, string>): number =>
  Number(values.SVC_CDP_PORT_BASE ?? CDP_PORT_BASE);

/** Displays and ports for another worker on a machine, next to workers with the environments `others`. */
export function freeLanePorts(others: Record<string, string>[]): Record<string, string> {
  const taken = others.map(baseOf);
  for (let block = 0; block < MAX_BLOCKS; block += 1) {
    const cdp = CDP_PORT_BASE + block * PORT_STEP;
    if (taken.some((base) => Math.abs(base - cdp) < PORT_STEP)) continue;
    return {
      SVC_DISPLAY_BASE: String(DISPLAY_BASE + block * DISPLAY_STEP),
      SVC_CDP_PORT_BASE: String(cdp),
      SVC_VNC_PORT_BASE: String(VNC_PORT_BASE + block * PORT_STEP),
      NOVNC_BASE_PORT: String(VIEWER_PORT_BASE + block * PORT_STEP),
    };
  }
  return {};
}
