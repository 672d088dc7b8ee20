import { closeSync, existsSync, mkdirSync, openSync, statSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Ports of tests and benchmarks. All lie below 32768: above it the kernel gives them out to outgoing connections, and one
 * of those may sit on a port for as long as the program that should listen there is waited for.
 */

/** The bases of the lanes' displays and ports under the names of their variables (rules/lanes#ports-of-a-lane). */
const BASES = {
  SVC_DISPLAY_BASE: 1_000,
  SVC_CDP_PORT_BASE: 20_000,
  SVC_VNC_PORT_BASE: 24_000,
  NOVNC_BASE_PORT: 28_000,
};
/** Lanes that one slot has numbers for. */
const LANES_OF_SLOT = 10;
const SLOTS = 400;
/** Listened on by the process that has the slot, for as long as it lives: nobody else gets it. */
const HELD = 19_000;
const LOOSE = { from: 10_000, count: 9_000 };
const TRIES = 1_000;

const random = (n: number): number => Math.floor(Math.random() * n);

function listenOn(port: number) {
  try {
    return Bun.listen({ hostname: "127.0.0.1", port, socket: { data: () => {} } });
  } catch {
    return null;
  }
}

function isFree(port: number): boolean {
  const listener = listenOn(port);
  listener?.stop(true);
  return listener !== null;
}

/** A port is given out once in so long: its server may be starting, or be away for a moment because a test killed it. */
const GIVEN_MS = 30 * 60_000;
const GIVEN = join(tmpdir(), "flotilla-ports");

/** Whether no process of this machine was given the port of late. */
function giveOut(port: number): boolean {
  const mark = join(GIVEN, String(port));
  const now = new Date();
  try {
    mkdirSync(GIVEN, { recursive: true });
    closeSync(openSync(mark, "wx"));
    return true;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== "EEXIST") throw err;
    if (now.getTime() - statSync(mark).mtimeMs < GIVEN_MS) return false;
    utimesSync(mark, now, now);
    return true;
  }
}

/** A port that is free now and that nobody else is given. */
export function freePort(): number {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const port = LOOSE.from + random(LOOSE.count);
    if (isFree(port) && giveOut(port)) return port;
  }
  throw new Error("no port left");
}

/** What a worker that was killed may have left: a lock of its display, a browser that listens still. */
function isUnused(offset: number): boolean {
  const { SVC_DISPLAY_BASE, ...ports } = BASES;
  for (let at = offset; at < offset + LANES_OF_SLOT; at += 1) {
    if (existsSync(`/tmp/.X${SVC_DISPLAY_BASE + at}-lock`)) return false;
    if (!Object.values(ports).every((base) => isFree(base + at))) return false;
  }
  return true;
}

const holding = new Map<string, { stop(closeActive: boolean): void }>();

/** Gives the slot back before the process ends; its worker is gone. */
export function releaseLanePorts({ SVC_CDP_PORT_BASE = "" }: Record<string, string>): void {
  holding.get(SVC_CDP_PORT_BASE)?.stop(true);
  holding.delete(SVC_CDP_PORT_BASE);
}

/** Variables that give a worker displays and ports of its own, so that tests and benchmarks can run beside each other. */
export function lanePorts(): Record<keyof typeof BASES, string> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const slot = random(SLOTS);
    const held = listenOn(HELD + slot);
    if (held === null) continue;
    const offset = slot * LANES_OF_SLOT;
    if (!isUnused(offset)) {
      held.stop(true);
      continue;
    }
    held.unref();
    const of = (name: keyof typeof BASES) => String(BASES[name] + offset);
    holding.set(of("SVC_CDP_PORT_BASE"), held);
    return {
      SVC_DISPLAY_BASE: of("SVC_DISPLAY_BASE"),
      SVC_CDP_PORT_BASE: of("SVC_CDP_PORT_BASE"),
      SVC_VNC_PORT_BASE: of("SVC_VNC_PORT_BASE"),
      NOVNC_BASE_PORT: of("NOVNC_BASE_PORT"),
    };
  }
  throw new Error("no ports left for lanes");
}
