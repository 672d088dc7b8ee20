import { expect, test } from "bun:test";
import { retryUnavailable } from "#hub/program/cli/retry-unavailable.ts";
import { ConfigError, UnavailableError } from "#shared/kit/env.ts";
import { createLog } from "#shared/kit/log.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";

const log = createLog("error", () => {});

function rig() {
  const clock = createFakeClock();
  const stop = new AbortController();
  const said: string[] = [];
  const say = (text: string) => void said.push(text);
  return { clock, stop, said, deps: { clock, log, signal: stop.signal, say } };
}

test("a start goes on when the store it waits for is back, however long that took", async () => {
  const { clock, said, deps } = rig();
  let away = 3;
  const open = async () => {
    if (away === 0) return "open";
    away -= 1;
    throw new UnavailableError("SVC_DB_URL: connection refused");
  };
  const opened = retryUnavailable(open, deps);
  for (let i = 0; i < 3; i += 1) {
    await clock.sleeperIn(5_000);
    await clock.advance(5_000);
  }
  expect(await opened).toBe("open");
  expect(said).toEqual(Array(3).fill("waiting: SVC_DB_URL: connection refused"));
});

test("a bad value is not waited for, and a stop ends the waiting", async () => {
  const { clock, stop, deps } = rig();
  const bad = () => Promise.reject(new ConfigError("SVC_DB_URL: mysql: is not supported"));
  expect(retryUnavailable(bad, deps)).rejects.toThrow("is not supported");
  const away = () => Promise.reject(new UnavailableError("SVC_DB_URL: connection refused"));
  const waiting = retryUnavailable(away, deps);
  await clock.sleeperIn(5_000);
  stop.abort();
  expect(waiting).rejects.toThrow("connection refused");
});
