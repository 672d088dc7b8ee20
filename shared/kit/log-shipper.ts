import { errorMessage } from "#shared/kit/errors.ts";
import { retryWait } from "./backoff.ts";
import { type Clock, endsWithin, isoTime } from "./clock.ts";
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
  /** What this process is: hub, control, worker. A line's own field `service` takes precedence. */
  service: string;
  /** Values that are masked wherever they occur; called for each batch. */
  secrets: () => readonly (string | null)[];
  clock: Clock;
  /** Where the shipper logs its own troubles: a logger that is not shipped, or they would multiply. */
  log: Log;
  random: () => number;
}

export interface LogShipper {
  /** Queues a line without waiting; the oldest line is dropped when there are too many. */
  sink: LogSink;
  /** Lines that were dropped and not yet reported. */
  readonly dropped: number;
  /** Begins to send the lines queued so far and those that follow. */
  start(send: SendLogs): void;
  /** Tries once more to send what is left, then stops. Idempotent. */
  stop(): Promise<void>;
}

const EVERY_MS = 1_000;
const RETRY_MS = { first: 1_000, most: 30_000 };
/** How much a process keeps while it cannot send: about 4 MB. */
const MAX_LINES = 5_000;
const MAX_BYTES = 4 * 1024 * 1024;
const BATCH_LINES = 500;
/** Below the limit for a JSON body, with room for what escaping adds. */
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

/** Lines that wait to be sent, within a bound of memory. */
function createBacklog(service: string) {
  let waiting: Waiting[] = [];
  let bytes = 0;
  let dropped = 0;
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
  return {
    get isEmpty() {
      return waiting.length === 0;
    },
    get dropped() {
      return dropped;
    },
    add: (ts: number, level: LogLevel, all: LogFields, message: string) => {
      const { service: of = service, ...rest } = all;
      const fields = fieldsJson(rest);
      const size = message.length + fields.length + 100;
      waiting.push({ ts, level, message, service: String(of), fields, bytes: size });
      bytes += size;
      dropOldest();
    },
    /** The first lines of one service, as many as a batch holds. */
    take: (): Waiting[] => {
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
    },
    putBack: (batch: Waiting[]) => {
      waiting = [...batch, ...waiting];
      for (const line of batch) bytes += line.bytes;
      dropOldest();
    },
    drop: (lines: number) => {
      dropped += lines;
    },
    /** So many lost lines have been reported. */
    reported: (lines: number) => {
      dropped -= lines;
    },
  };
}

const lineWith =
  (mask: LogMask) =>
  ({ ts, level, message, fields }: Waiting): ShippedLine => ({
    ts: isoTime(ts),
    level,
    message: mask.text(message).slice(0, MAX_MESSAGE),
    fields: mask.value(JSON.parse(fields)) as Record<string, unknown>,
  });

/** Sends what waits, batch by batch; after a failure it waits longer and longer. */
function createPasses(
  deps: LogShipperDeps,
  backlog: ReturnType<typeof createBacklog>,
  signal: AbortSignal,
  kept: (min_level: LogLevel) => void,
) {
  const { clock, log } = deps;
  let failures = 0;
  let next_at = 0;
  const sendBatch = async (to: SendLogs, batch: Waiting[]): Promise<void> => {
    const told = backlog.dropped;
    const logs = batch.map(lineWith(createLogMask(deps.secrets())));
    if (told > 0)
      logs.unshift({
        ts: isoTime(batch[0]?.ts ?? clock.now()),
        level: "warn",
        message: "log lines dropped",
        fields: { dropped: told },
      });
    const service = batch[0]?.service ?? deps.service;
    const { min_level } = await to({ host: deps.host, service, logs }, signal);
    kept(min_level);
    backlog.reported(told);
  };
  return async (to: SendLogs, stopping = false): Promise<void> => {
    if (!stopping && clock.monotonic() < next_at) return;
    for (let i = 0; i < BATCHES_AT_ONCE && !backlog.isEmpty; i += 1) {
      const batch = backlog.take();
      try {
        await sendBatch(to, batch);
        if (failures > 0) log.info({ failures }, "logs are shipped again");
        failures = 0;
      } catch (err) {
        if (err instanceof BatchRefused) backlog.drop(batch.length);
        else backlog.putBack(batch);
        // Once per outage: repeated each time, it would fill the log.
        if (failures === 0) log.warn({ err: errorMessage(err) }, "could not ship logs");
        next_at = clock.monotonic() + retryWait(failures, RETRY_MS, deps.random());
        failures += 1;
        return;
      }
    }
  };
}

/**
 * Sends a process' own log lines to the control plane (rules/pipeline-operations#ship-logs) without ever holding the
 * process up.
 */
export function createLogShipper(deps: LogShipperDeps): LogShipper {
  const { clock, log } = deps;
  const backlog = createBacklog(deps.service);
  let min_level: LogLevel = "info";
  let send: SendLogs | null = null;
  let loop: { stop(): Promise<void> } | null = null;
  const gone = new AbortController();
  let stopped = false;
  const shipOnce = createPasses(deps, backlog, gone.signal, (level) => {
    min_level = level;
  });

  /** Waits for batches under way and tries once to send the rest; neither delays the stop for long. */
  const end = async (): Promise<void> => {
    const last = async () => {
      await loop?.stop();
      if (send !== null) await shipOnce(send, true);
    };
    await endsWithin(clock, LAST_TRY_MS, last());
    gone.abort();
    stopped = true;
  };
  let ended: Promise<void> | undefined;
  return {
    sink: (level, fields, message) => {
      if (stopped || LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(min_level)) return;
      backlog.add(clock.now(), level, fields, message);
    },
    get dropped() {
      return backlog.dropped;
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

/** A copy of the fields: what they refer to may change before they are sent. */
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
