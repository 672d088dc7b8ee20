import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "#shared/kit/log.ts";
import { hashFiles } from "#shared/protocol/version.ts";
import type { Trusted } from "#worker/program/update/proof.ts";
import {
  createUpdater,
  type Updater,
  type UpdateSettings,
} from "#worker/program/update/updater.ts";
import { makeTarGz, type TarEntry } from "../clients/tar.ts";
import { createFakeClock, type FakeClock } from "../fakes/fake-clock.ts";
import { createQueue, type Queue } from "../models/queue.ts";

/** Sources of a program that is as small as can be. */
export const SMALL: [string, string][] = [
  ["shared/a.ts", "export const a = 1;\n"],
  ["worker/b.ts", 'import { a } from "#shared/a.ts";\nexport const b = a;\n'],
];
export const versionOf = (files: [string, string][]): string =>
  hashFiles(files.map(([path, body]) => ({ path, body: Buffer.from(body) })));

export const archiveOf = (files: TarEntry[]): Promise<Buffer> => makeTarGz(files);

/** Version of the program under test; no sources have it. */
export const BASE = "0ba5e0ba5e00";

/** An updater with a real server of archives, a fake clock and a worker of counters. */
export interface UpdateRig {
  dir: string;
  updater: Updater;
  clock: FakeClock;
  log: Queue<Record<string, unknown>>;
  /** How often the archive was asked for. */
  fetches(): number;
  serve(answer: (response: ServerResponse) => void): void;
  /** As a handshake of a hub with this version does. */
  offer(version: string): void;
  sessions: number;
  /** Reasons of the drains. */
  drains: Queue<{ why: string; until: number }>;
  /** Resolves when the worker is to exit with 42. */
  exited: Promise<void>;
  /** Resolves with the reason when an update was not taken. */
  refused(): Promise<string>;
  close(): Promise<void>;
}

export interface UpdateRigOptions {
  version?: string;
  settings?: Partial<UpdateSettings>;
  /** Existing directory; else one of its own. */
  dir?: string;
  /** Whom the worker believes; nobody by name unless given. */
  trusted?: Trusted;
}

export async function startUpdateRig(options: UpdateRigOptions = {}): Promise<UpdateRig> {
  const own = options.dir === undefined ? await mkdtemp(join(tmpdir(), "update-rig-")) : null;
  const dir = options.dir ?? join(own ?? "", "versions");
  const clock = createFakeClock();
  const log = createQueue<Record<string, unknown>>();
  const drains = createQueue<{ why: string; until: number }>();
  const exit = Promise.withResolvers<void>();
  let answer: (response: ServerResponse) => void = (response) => response.writeHead(404).end();
  let fetches = 0;
  const server = createServer((_, response) => {
    fetches += 1;
    answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/worker-source.tar.gz`;
  const updater = createUpdater({
    dir,
    base: BASE,
    version: options.version ?? BASE,
    ...(options.trusted && { trusted: options.trusted }),
    settings: { fetches: true, exits: true, wait_ms: 1_800_000, ...options.settings },
    sessions: () => rig.sessions,
    drain: async (why, until) => drains.push({ why, until }),
    exit: () => exit.resolve(),
    clock,
    log: createLog("debug", (line) => log.push(JSON.parse(line) as Record<string, unknown>)),
  });
  const rig: UpdateRig = {
    dir,
    updater,
    clock,
    log,
    fetches: () => fetches,
    serve: (next) => {
      answer = next;
    },
    offer: (version) => updater.offered(version, async () => url),
    sessions: 0,
    drains,
    exited: exit.promise,
    refused: async () => {
      const line = await log.next((l) => String(l.message).startsWith("update not installed"));
      return String(line.reason);
    },
    close: async () => {
      await updater.stop();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      if (own !== null) await rm(own, { recursive: true, force: true });
    },
  };
  return rig;
}
