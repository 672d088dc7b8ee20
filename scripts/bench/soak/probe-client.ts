import { join } from "node:path";

/** What a soak asks of its processes; `probe.ts` answers inside of them. */
export const PROBE_ENV = "FLOTILLA_SOAK_PROBE";

/** Starts the program from source so that it answers, in the directory that the variable names. */
export const PROBED = [
  process.execPath,
  "--preload",
  join(import.meta.dir, "probe.ts"),
  join(import.meta.dir, "../../../hub/main.ts"),
];

export const probeSocket = (dir: string, mode: string): string => join(dir, `${mode}.sock`);

/** Bytes and counts of one process. */
export interface Probed {
  /** JavaScript objects. */
  heap: number;
  /** What objects hold outside of the heap: buffers, strings. */
  extra: number;
  objects: number;
  /** Given out by the runtime's allocator and not freed. */
  malloc: number;
  /** Objects of each kind. */
  types: Record<string, number>;
}

const PROBE_MS = 60_000;

const ask = (dir: string, mode: string, path: string): Promise<Response> =>
  fetch(`http://probe${path}`, {
    unix: probeSocket(dir, mode),
    signal: AbortSignal.timeout(PROBE_MS),
  });

export async function probe(dir: string, mode: string, { gc = false } = {}): Promise<Probed> {
  return (await (await ask(dir, mode, gc ? "/?gc" : "/")).json()) as Probed;
}

export async function writeSnapshot(dir: string, mode: string, to: string): Promise<void> {
  await Bun.write(to, await ask(dir, mode, "/snapshot?gc"));
}
