import type { IncomingMessage, ServerResponse } from "node:http";
import { type Clock, withDeadline } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { CDP_CLIENT_HEADER, readCdpClient } from "#shared/protocol/cdp-client.ts";
import { MAX_JSON_BODY_BYTES, WEBDRIVER } from "#shared/protocol/limits.ts";
import { WebDriverError } from "#shared/protocol/webdriver-error.ts";
import type { DialedClient, DialRules } from "../bridge/dial-session.ts";
import { SessionEnd } from "../session/live.ts";
import type { LiveSession } from "../session/live-session.ts";
import { type Driver, startDriver } from "./driver.ts";
import { forward } from "./forward.ts";
import { type DriverSession, newDriverSession } from "./new-session.ts";
import { findChromedriver, INSTALL_CHROMEDRIVER } from "./program.ts";
import { openRelay, type Relay } from "./relay.ts";
import { takeFile } from "./take-file.ts";

/** The chromedrivers of a lane's sessions: one for each session that a WebDriver client has. */
export interface WebDrivers {
  /**
   * Serves one call below the session's `webdriver`: `POST webdriver` starts one and answers what it can do, anything below
   * it is a command. False when the call is about something else. Whatever it answers is as WebDriver's clients know it.
   */
  serve(
    session: LiveSession,
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<boolean>;
  close(): Promise<void>;
}

export interface WebDriversDeps extends DialRules {
  program_path?: string | undefined;
  clock: Clock;
  log: Log;
}

type Json = Record<string, unknown>;

/** One session's. */
interface Running {
  driver: Driver;
  relay: Relay;
  /** Its own session, once the browser has answered. */
  at: DriverSession | null;
}

const PLACE = /^webdriver(?:\/(.*))?$/s;
/** A broken connection comes before the exit of the process that explains it. */
const EXIT_MS = 1_000;

/** What the sessions share. */
interface Drivers {
  readonly deps: WebDriversDeps;
  readonly running: Map<LiveSession, Promise<Running>>;
}

export function createWebDrivers(deps: WebDriversDeps): WebDrivers {
  const drivers: Drivers = { deps, running: new Map() };
  return {
    serve: async (session, path, request, response) => {
      const place = PLACE.exec(path);
      if (!place) return false;
      try {
        await answer(drivers, session, place[1], { request, response });
      } catch (err) {
        if (response.headersSent) response.destroy();
        else {
          const { status, body } = toldOf(err, session);
          say(response, status, body);
        }
      }
      return true;
    },
    close: async () =>
      void (await Promise.all([...drivers.running.values()].map((one) => end(deps, one)))),
  };
}

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

async function answer(
  drivers: Drivers,
  session: LiveSession,
  below: string | undefined,
  exchange: Exchange,
): Promise<void> {
  const { request, response } = exchange;
  if (below === undefined)
    return say(response, 200, { value: { capabilities: await begin(drivers, session, request) } });
  if (below === "file") {
    const body = await readBody(request, WEBDRIVER.file_bytes);
    return say(response, 200, { value: await takeFile(session, body) });
  }
  return command(drivers, session, below, exchange);
}

/** Starts a chromedriver for the session. @returns what it says that the browser can do */
async function begin(
  drivers: Drivers,
  session: LiveSession,
  request: IncomingMessage,
): Promise<Json> {
  const capabilities = (await readBody(request, MAX_JSON_BODY_BYTES)) as Json;
  const name = readCdpClient(request.headers[CDP_CLIENT_HEADER]);
  const by = name === undefined ? "WebDriver" : `${name}, WebDriver`;
  const found = await start(drivers, { session, by });
  try {
    const { driver, relay } = found;
    const { clock } = drivers.deps;
    found.at = await newDriverSession(clock, driver.base, relay.address, capabilities);
    return found.at.capabilities;
  } catch (err) {
    await end(drivers.deps, Promise.resolve(found));
    if (err instanceof WebDriverError) throw err;
    throw new WebDriverError("session not created", errorMessage(err), { cause: err });
  }
}

/** @throws WebDriverError when the session has one already, or it cannot be started */
function start({ deps, running }: Drivers, client: DialedClient): Promise<Running> {
  const { session } = client;
  if (running.has(session))
    throw new WebDriverError("session not created", "the session has a WebDriver client already");
  const starting = startRunning(deps, client);
  running.set(session, starting);
  const forget = () => running.delete(session);
  starting.then((found) => {
    void found.driver.ended.then((why) => {
      found.relay.close();
      forget();
      // Its client cannot steer it any more.
      if (found.at) session.end(new SessionEnd(why));
    });
    session.signal.addEventListener("abort", () => void end(deps, starting), { once: true });
    if (session.signal.aborted) void end(deps, starting);
  }, forget);
  return starting;
}

async function end(
  { log }: Pick<WebDriversDeps, "log">,
  starting: Promise<Running>,
): Promise<void> {
  const found = await starting.catch(() => null);
  found?.relay.close();
  await found?.driver
    .end()
    .catch((err) => log.error({ err: errorMessage(err) }, "chromedriver did not end"));
}

async function command(
  { running }: Drivers,
  session: LiveSession,
  path: string,
  { request, response }: Exchange,
): Promise<void> {
  const found = await running.get(session);
  if (!found?.at)
    throw new WebDriverError("invalid session id", "the session has no WebDriver client");
  try {
    await forward(found.at, path, request, response);
  } catch (err) {
    if (err instanceof WebDriverError) throw err;
    const ended = withDeadline("the end of chromedriver", EXIT_MS, found.driver.ended);
    const why = await ended.catch(() => errorMessage(err));
    throw new WebDriverError("unknown error", why, { cause: err });
  }
}

async function startRunning(deps: WebDriversDeps, client: DialedClient): Promise<Running> {
  const { session } = client;
  const path = deps.program_path ?? "/usr/local/bin:/usr/bin:/bin";
  const program = findChromedriver(path);
  if (program === null) throw new WebDriverError("session not created", INSTALL_CHROMEDRIVER);
  const browser = session.browser();
  if (!browser) throw new WebDriverError("session not created", "the browser is still starting");
  const { session_id, lane_idx, signal } = session;
  const log = deps.log.child({ session_id, lane_idx });
  const relay = await openRelay(deps, client, log);
  try {
    const driver = await startDriver({ program, path, browser, signal, log });
    return { driver, relay, at: null };
  } catch (err) {
    relay.close();
    throw new WebDriverError("session not created", errorMessage(err), { cause: err });
  }
}

async function readBody(request: IncomingMessage, most: number): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > most) throw new WebDriverError("invalid argument", `at most ${most} bytes`);
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString());
}

function toldOf(err: unknown, { signal }: LiveSession): WebDriverError {
  if (err instanceof WebDriverError) return err;
  const why = signal.aborted ? signal.reason : err;
  return new WebDriverError("unknown error", errorMessage(why), { cause: err });
}

function say(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(JSON.stringify(body));
}
