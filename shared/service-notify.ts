import type { EnvSource } from "#shared/kit/env.ts";
import { openDatagrams } from "#shared/kit/libc-datagram.ts";

/**
 * What a service reports to the systemd that started it, by the protocol of sd_notify(3): `systemctl status` shows it,
 * `systemctl start` waits for it, and a service whose event loop hangs is restarted (`WatchdogSec=`).
 */
export interface ServiceNotify {
  /** systemd waits for the service and watches it. */
  heard: boolean;
  /** The service is ready. `status` is one line for `systemctl status`. */
  ready(status: string): void;
  /** What the service does or waits for. */
  status(text: string): void;
  /** The service is stopping; with `within_ms` systemd waits that long, whatever `TimeoutStopSec=` says. */
  stopping(within_ms?: number): void;
}

/** Beats in each of the watchdog's intervals: one or two lost or late beats must not end a service. */
const BEATS = 4;
/** Between the process's own deadline and that of systemd. */
const MARGIN_MS = 10_000;
/** Lines that were not accepted are sent again after this long. */
const RETRY_MS = 1_000;

const SILENT: ServiceNotify = {
  heard: false,
  ready: () => {},
  status: () => {},
  stopping: () => {},
};

const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim();

/**
 * Speaks to the socket that `env` names, for as long as the process lives. Does nothing if there is none, or if the
 * variables are meant for another process that passed them on (`WATCHDOG_PID`).
 * The watchdog's beats come from the event loop, so that they stop when it hangs.
 */
export function openServiceNotify(env: EnvSource, pid = process.pid): ServiceNotify {
  const { NOTIFY_SOCKET: path, WATCHDOG_USEC: usec, WATCHDOG_PID: addressee } = env;
  if (!path || (addressee !== undefined && Number(addressee) !== pid)) return SILENT;
  const send = openDatagrams(path);
  if (send === null) return SILENT;
  /** Lines that systemd has yet to take, the newest of each name. */
  const untold = new Map<string, string>();
  let retrying: Timer | undefined;
  const tell = (lines: Record<string, string>) => {
    for (const [name, value] of Object.entries(lines)) untold.set(name, value);
    if (untold.size === 0) return;
    if (send([...untold].map((line) => line.join("=")).join("\n"))) return untold.clear();
    clearTimeout(retrying);
    retrying = setTimeout(() => tell({}), RETRY_MS);
    retrying.unref();
  };
  const beat_ms = Number(usec) / 1_000 / BEATS;
  const beat = () => {
    tell({ WATCHDOG: "1" });
    setTimeout(beat, beat_ms).unref();
  };
  if (beat_ms >= 1) beat();
  return {
    heard: true,
    ready: (status) => tell({ READY: "1", STATUS: oneLine(status) }),
    status: (text) => tell({ STATUS: oneLine(text) }),
    stopping: (within_ms) =>
      tell({
        STOPPING: "1",
        STATUS: "stopping: running work ends first",
        ...(within_ms !== undefined && {
          EXTEND_TIMEOUT_USEC: String(Math.ceil((within_ms + MARGIN_MS) * 1_000)),
        }),
      }),
  };
}
