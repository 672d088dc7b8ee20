import { errorMessage } from "#shared/kit/errors.ts";
import { retryWait } from "./backoff.ts";
import { type Clock, isoTime } from "./clock.ts";
import {
  LOG_LEVELS,
  type Log,
  type LogFields,
  type LogLevel,
  type LogSink,
  plainLogValue,
} from "./log.ts";
import { createLogMask, type LogMask } from "./log-mask.ts";
import { startLoop } from "./loop.ts";

/** One line on its way, as POST /api/v1/service-logs takes it. */
interface ShippedLine {
  ts: string;
  level: LogLevel;
  message: string;
  fields: Record<string, unknown>;
}
export interface LogBatch {
  host: string;
  service: string;
  logs: ShippedLine[];
}

/** The receiver will never take this batch: sending it again would change nothing. */
export class BatchRefused extends Error {}

/**
 * Accepts a batch and returns the lowest level that is kept. `signal` aborts when nobody waits for it any longer.
 * @throws BatchRefused, or an error after which the batch may be sent again
 */
type SendLogs = (batch: LogBatch, signal: AbortSignal) => Promise<{ min_level: LogLevel }>;

export interface LogShipperDeps {
  host: string;
  /** What this process is: hub, control, worker. A line's own field `service` wins. */
  service: string;
  /** Values that are masked wherever they stand; asked for with each batch. */
  secrets: () => readonly (string | null)[];
  clock: Clock;
  /** Where the shipper logs its own troubles: a logger that is not shipped, or they would multiply. */
  log: Log;
  random: () => number;
}

export interface LogShipper {
  /** Queues a line at once; the oldest line is dropped when there are too many. */
  sink: LogSink;
  /** Lines that were dropped and not yet reported. */
  readonly dropped: number;
  /** Begins to send what has come so far and what comes next. */
  start(send: SendLogs): void;
  /** Tries once more to send what is left, then stops. Idempotent. */
  stop(): Promise<void>;
}

const EVERY_MS = 1_000;
const RETRY_MS = { first: 1_000, most: 30_000 };
/** How much a process that cannot send keeps: about 4 MB. */
const MAX_LINES = 5_000;
const MAX_BYTES = 4 * 1024 * 1024;
const BATCH_LINES = 500;
/** Below the limit of a JSON body, with room for what escaping adds. */
const BATCH_BYTES = 512 * 1024;
const MAX_MESSAGE = 5_000;
const MAX_FIELDS = 16 * 1024;
/** Batches per pass, so that a flood does not block the event loop. */
const BATCHES_AT_ONCE = 10;
const LAST_TRY_MS = 2_000;

interface Waiting {
  ts: number;
  level: LogLevel;
  message: string;
  service: string;
  /** JSON. */
  fields: string;
  bytes: number;
}

/**
 * Sends a process' own log lines to the control plane (rules/pipeline-operations#ship-logs) without ever holding the
 * process up.
 */
export function createLogShipper(deps: LogShipperDeps): LogShipper {
  const { clock, log } = deps;
  let waiting: Waiting[] = [];
  let bytes = 0;
  let dropped = 0;
  let min_level: LogLevel = "info";
  let failures = 0;
  let next_at = 0;
  let send: SendLogs | null = null;
  let loop: { stop(): Promise<void> } | null = null;
  const gone = new AbortController();
  let stopped = false;

  const dropOldest = () => {
    let n = 0;
    while (waiting.length - n > MAX_LINES || (bytes > MAX_BYTES && waiting.length - n > 1)) {
      bytes -= waiting[n]?.bytes ?? 0;
      n += 1;
    }
    if (n === 0) return;
    waiting = waiting.slice(n);
    dropped += n;
  };
  const sink: LogSink = (level, all, message) => {
    if (stopped || LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(min_level)) return;
    const { service = deps.service, ...rest } = all;
    const fields = fieldsJson(rest);
    const line = { ts: clock.now(), level, message, service: String(service), fields };
    const size = message.length + fields.length + 100;
    waiting.push({ ...line, bytes: size });
    bytes += size;
    dropOldest();
  };

  /** The first lines of one service, as many as a batch holds. */
  const takeBatch = (): Waiting[] => {
    const [first] = waiting;
    let n = 0;
    let size = 0;
    for (const line of waiting) {
      size += line.bytes;
      if (n === BATCH_LINES || (n > 0 && size > BATCH_BYTES) || line.service !== first?.service)
        break;
      n += 1;
    }
    const batch = waiting.slice(0, n);
    waiting = waiting.slice(n);
    for (const line of batch) bytes -= line.bytes;
    return batch;
  };
  const putBack = (batch: Waiting[]) => {
    waiting = [...batch, ...waiting];
    for (const line of batch) bytes += line.bytes;
    dropOldest();
  };
  const lineWith =
    (mask: LogMask) =>
    ({ ts, level, message, fields }: Waiting): ShippedLine => ({
      ts: isoTime(ts),
      level,
      message: mask.text(message).slice(0, MAX_MESSAGE),
      fields: mask.value(JSON.parse(fields)) as Record<string, unknown>,
    });
  const sendBatch = async (to: SendLogs, batch: Waiting[]): Promise<void> => {
    const told = dropped;
    const logs = batch.map(lineWith(createLogMask(deps.secrets())));
    if (told > 0)
      logs.unshift({
        ...{ ts: isoTime(batch[0]?.ts ?? clock.now()), level: "warn" },
        ...{ message: "log lines dropped", fields: { dropped: told } },
      });
    const service = batch[0]?.service ?? deps.service;
    ({ min_level } = await to({ host: deps.host, service, logs }, gone.signal));
    dropped -= told;
  };
  const shipOnce = async (to: SendLogs, stopping = false): Promise<void> => {
    if (!stopping && clock.monotonic() < next_at) return;
    for (let i = 0; i < BATCHES_AT_ONCE && waiting.length > 0; i += 1) {
      const batch = takeBatch();
      try {
        await sendBatch(to, batch);
        if (failures > 0) log.info({ failures }, "logs are shipped again");
        failures = 0;
      } catch (err) {
        if (err instanceof BatchRefused) dropped += batch.length;
        else putBack(batch);
        // Once per outage: repeated each time, it would fill the log.
        if (failures === 0) log.warn({ err: errorMessage(err) }, "logs not shipped");
        next_at = clock.monotonic() + retryWait(failures, RETRY_MS, deps.random());
        failures += 1;
        return;
      }
    }
  };
  /** Waits for batches under way and tries once to send the rest; neither delays the stop for long. */
  const end = async (): Promise<void> => {
    const finished = new AbortController();
    const last = async () => {
      await loop?.stop();
      if (send !== null) await shipOnce(send, true);
    };
    await Promise.race([last(), clock.sleep(LAST_TRY_MS, finished.signal)]);
    finished.abort();
    gone.abort();
    stopped = true;
  };
  let ended: Promise<void> | undefined;
  return {
    sink,
    get dropped() {
      return dropped;
    },
    start: (to) => {
      send = to;
      const pass = () => shipOnce(to);
      loop = startLoop({ name: "log shipper", everyMs: EVERY_MS, clock, log, pass });
    },
    stop: () => {
      ended ??= end();
      return ended;
    },
  };
}

/** The fields as they are now: what they refer to may change before they are sent. */
function fieldsJson(fields: LogFields): string {
  try {
    const plain = Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [name, plainLogValue(value)]),
    );
    const json = JSON.stringify(plain);
    return json.length <= MAX_FIELDS ? json : JSON.stringify({ left_out: `${json.length} bytes` });
  } catch (err) {
    return JSON.stringify({ left_out: errorMessage(err) });
  }
}
