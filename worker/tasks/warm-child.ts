import type { Clock } from "#shared/kit/clock.ts";
import { newToken } from "#shared/protocol/ids.ts";
import { type Child, type Frame, startChild } from "./child.ts";
import { BrokenExecutorError } from "./executor.ts";
import { excess, heldBytes, watchMemory, wornAbove } from "./memory.ts";

export interface WarmChildDeps {
  clock: Clock;
  /** The program that speaks wp-exec/1, with its arguments. */
  program: string;
  args: string[];
  cwd: string;
  environment: Record<string, string>;
  /** What the child receives first: module, source_path, init_kwargs. */
  init: Record<string, unknown>;
  /** Tasks after which the child is replaced; null: never. */
  recycle_after: number | null;
  /** How much memory the child and all processes below it may hold; null: no limit. */
  memory_bytes: number | null;
}

/** Time to start Python and import a large module. */
const START_MS = 60_000;
/** Measuring a child's memory costs as much as a small task does. */
const LOOK_EVERY_MS = 1_000;

/** A process that has loaded a workload's module, and how much it may still be used. */
export interface WarmChild {
  readonly process: Child;
  /** Late output, or a signal on its way, would hit the next task. */
  readonly unclean: boolean;
  soil(): void;
  countTask(): void;
  /** Whether another child should run the next task: tasks leave things behind, such as modules, caches and leaks. */
  isWorn(): boolean;
}

/**
 * @param onFrame handles what the child reports about its tasks
 * @throws BrokenExecutorError when the program does not start, or the module does not load
 */
export async function startWarmChild(
  deps: WarmChildDeps,
  onFrame: (frame: Frame) => void,
): Promise<WarmChild> {
  const { program, args, cwd, environment, clock, memory_bytes, recycle_after } = deps;
  const ready = Promise.withResolvers<void>();
  ready.promise.catch(() => {});
  const child = await startChild({
    program,
    args,
    cwd,
    environment,
    clock,
    onFrame: (frame) => {
      if (frame.type === "ready") ready.resolve();
      else if (frame.type === "init_error") ready.reject(new Error(String(frame.message)));
      else onFrame(frame);
    },
  }).catch((err) => {
    throw new BrokenExecutorError(`${program} cannot be started: ${err.message}`, "");
  });
  child.send({ type: "init", ...deps.init });
  await becomeReady(child, deps, ready).catch(async (err) => {
    const stderr = await endWithStderr(child);
    throw new BrokenExecutorError(`the module cannot be loaded: ${err.message}`, stderr);
  });
  /** A child that holds more memory than this is replaced before its next task. */
  const worn_above = wornAbove(heldBytes(child.pid) ?? Number.POSITIVE_INFINITY, memory_bytes);
  let looked_at = performance.now();
  let done = 0;
  let unclean = false;
  return {
    process: child,
    get unclean() {
      return unclean;
    },
    soil: () => {
      unclean = true;
    },
    countTask: () => {
      done += 1;
    },
    isWorn: () => {
      if (unclean || (recycle_after !== null && done >= recycle_after)) return true;
      if (performance.now() - looked_at < LOOK_EVERY_MS) return false;
      looked_at = performance.now();
      return (heldBytes(child.pid) ?? 0) > worn_above;
    },
  };
}

/** @throws what `ready` was rejected with, or why the child cannot become ready. */
async function becomeReady(
  child: Child,
  { clock, memory_bytes: most }: WarmChildDeps,
  ready: PromiseWithResolvers<void>,
): Promise<void> {
  const { pid } = child;
  const over = new AbortController();
  const late = clock.sleep(START_MS, over.signal).then(() => {
    if (!over.signal.aborted) throw new Error(`it was not ready within ${START_MS / 1_000} s`);
  });
  late.catch(() => {});
  const gone = child.exited.then((how) => {
    throw new Error(`it ${how}`);
  });
  gone.catch(() => {});
  const tooMuch = (words: string) => ready.reject(new Error(`it needs ${words}`));
  if (most !== null) void watchMemory({ pid, most, clock, over: over.signal, onExcess: tooMuch });
  try {
    await Promise.race([ready.promise, gone, late]);
    const words = most === null ? null : excess(pid, most);
    if (words !== null) throw new Error(`it needs ${words}`);
  } finally {
    over.abort();
  }
}

/** Ends the child; returns what it printed, such as a traceback. */
async function endWithStderr(child: Child): Promise<string> {
  const nonce = newToken();
  const stderr = child.stderr.until(nonce);
  await child.end({ at_once: true });
  child.stderr.giveUp(nonce);
  return (await stderr).text;
}
