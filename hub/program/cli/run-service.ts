import { withDeadline } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { EXIT } from "./exit.ts";

/**
 * How long a stop takes besides its drain: cancelling runs, resetting lanes, finishing calls. Anything longer is a bug.
 */
const STOP_DEADLINE_MS = 60_000;
/** The longest time that a stop with this drain may take, in milliseconds. */
export const stopWithin = (drain_ms: number): number => drain_ms + STOP_DEADLINE_MS;
/** Time to end the browsers after a bug has reached the top. */
const CRASH_STOP_MS = 5_000;

export interface Service {
  /** Stops in order; idempotent, and safe while half started. */
  stop(): Promise<void>;
  /**
   * Applies what has changed outside, after the configuration was replaced. @throws ConfigError for what has to stay as
   * it was.
   */
  reload?(): void;
  /** Resolves with an exit code when the service ends by itself (a watchdog, an update). */
  exited?: Promise<number>;
}

/** What a service needs from its process; `hub/main.ts` passes the real one. */
export interface Host {
  on(event: string, listener: (reason: unknown) => void): unknown;
  exit(code: number): unknown;
  stdin: { on(event: "end" | "close" | "error", listener: () => void): unknown; resume(): unknown };
}

const SIGNALS = { SIGINT: 2, SIGTERM: 15 } as const;

/**
 * Runs a service until a signal, the end of standard input (if requested), or its own end.
 * The first signal drains, the second exits immediately with 128 + its number. `start` gets a signal that aborts when
 * a stop is requested, so that a slow start need not finish. SIGHUP never ends it: `reload` is called.
 * @param drain_ms how long `stop` may wait for what runs (SVC_DRAIN_TIMEOUT_S).
 * @returns the exit code: 0 after a drain, the service's own when it ended by itself, 70 when it would not stop.
 * @throws what `start` threw.
 */
export async function runService(
  host: Host,
  log: Log,
  start: (stopping: AbortSignal) => Promise<Service>,
  exitOnStdinClose: boolean,
  reload: (service: Service | undefined) => void = () => {},
  drain_ms = 0,
): Promise<number> {
  let asked: (code: number) => void = () => {};
  const stopAsked = new Promise<number>((resolve) => {
    asked = resolve;
  });
  const stopping = new AbortController();
  let draining = false;
  const drain = (why: string) => {
    draining = true;
    log.info({ reason: why }, "stop requested");
    asked(EXIT.ok);
    stopping.abort();
  };
  for (const [signal, number] of Object.entries(SIGNALS))
    host.on(signal, () => (draining ? host.exit(128 + number) : drain(signal)));
  if (exitOnStdinClose) {
    const closed = () => {
      if (!draining) drain("standard input closed");
    };
    for (const event of ["end", "close", "error"] as const) host.stdin.on(event, closed);
    host.stdin.resume();
  }

  let service: Service | undefined;
  host.on("SIGHUP", () => {
    if (!draining) reload(service);
  });
  const crash = (kind: string) => (err: unknown) => {
    log.error({ err }, kind);
    const stopped = service?.stop() ?? Promise.resolve();
    void withDeadline("stop", CRASH_STOP_MS, stopped)
      .catch(() => {})
      .then(() => host.exit(EXIT.internal));
  };
  host.on("unhandledRejection", crash("unhandled rejection"));
  host.on("uncaughtException", crash("uncaught exception"));

  try {
    service = await start(stopping.signal);
  } catch (err) {
    if (!stopping.signal.aborted) throw err;
    log.info({ reason: errorMessage(err) }, "stopped while starting");
    return EXIT.ok;
  }
  const code = await Promise.race([
    stopAsked,
    ...(service.exited !== undefined ? [service.exited] : []),
  ]);
  draining = true;
  try {
    await withDeadline("stop", stopWithin(drain_ms), service.stop());
  } catch (err) {
    log.error({ err: errorMessage(err) }, "stop failed");
    return EXIT.internal;
  }
  log.info({ code }, "stopped");
  return code;
}
