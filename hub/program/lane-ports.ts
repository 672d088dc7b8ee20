import { connect, createServer } from "node:net";
import type { EnvSource } from "#shared/kit/env.ts";
import { CDP_PORT_BASE, DISPLAY_BASE, VNC_PORT_BASE } from "#shared/protocol/limits.ts";

/** The bases of a worker's lanes under the names of their variables (rules/lanes#ports-of-a-lane). */
const BASES = {
  SVC_DISPLAY_BASE: DISPLAY_BASE,
  SVC_CDP_PORT_BASE: CDP_PORT_BASE,
  SVC_VNC_PORT_BASE: VNC_PORT_BASE,
  NOVNC_BASE_PORT: 6080,
} as const;

/** Far enough apart for the lanes of a dev machine, and below the ephemeral ports. */
const STEP = 100;
const TRIES = 10;

/** Whether a program could listen there now, on loopback and on every address. */
async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const free = await new Promise<boolean>((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, () => resolve(true));
  });
  await new Promise((resolve) => server.close(resolve));
  return free;
}

/** Whether an X server answers there; the socket file alone may be left over from a killed one. */
async function hasDisplay(display: number): Promise<boolean> {
  const socket = connect(`/tmp/.X11-unix/X${display}`);
  const answered = await new Promise<boolean>((resolve) => {
    socket.once("connect", () => resolve(true));
    socket.once("error", () => resolve(false));
  });
  socket.destroy();
  return answered;
}

async function lanesFree(offset: number, lanes: number): Promise<boolean> {
  for (let lane = 0; lane < lanes; lane += 1) {
    const at = offset + lane;
    if (await hasDisplay(BASES.SVC_DISPLAY_BASE + at)) return false;
    for (const base of [BASES.SVC_CDP_PORT_BASE, BASES.SVC_VNC_PORT_BASE, BASES.NOVNC_BASE_PORT])
      if (!(await isFree(base + at))) return false;
  }
  return true;
}

/**
 * Displays and ports for dev mode's worker: the usual ones, or, while another worker of this machine holds one of them, the
 * same numbers plus 100, 200, …. Empty if the environment names any of them, or if all are taken.
 */
export async function pickLanePorts(env: EnvSource, lanes: number): Promise<EnvSource> {
  if (Object.keys(BASES).some((name) => env[name]?.trim())) return {};
  for (let offset = 0; offset < TRIES * STEP; offset += STEP) {
    if (!(await lanesFree(offset, lanes))) continue;
    if (offset === 0) return {};
    return Object.fromEntries(
      Object.entries(BASES).map(([name, base]) => [name, String(base + offset)]),
    );
  }
  return {};
}
