import { describe, expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import { type Host, runService } from "#hub/program/cli/run-service.ts";
import { silentLog } from "#shared/kit/log.ts";
import { nextBackoff } from "#shared/kit/supervise-child.ts";

function fakeHost() {
  const events = new EventEmitter();
  const stdin = new EventEmitter();
  const codes: number[] = [];
  let exited: () => void = () => {};
  const exit = new Promise<void>((resolve) => {
    exited = resolve;
  });
  const host: Host = {
    on: (event, listener) => events.on(event, listener),
    exit: (code) => {
      codes.push(code);
      exited();
    },
    stdin: Object.assign(stdin, { resume: () => {} }),
  };
  const raise = (event: string) => events.emit(event, new Error("boom"));
  return { host, stdin, codes, exit, raise };
}

const service = () => {
  let stopped = 0;
  return {
    stop: async () => {
      stopped += 1;
    },
    get stopped() {
      return stopped;
    },
  };
};

describe("signals", () => {
  for (const signal of ["SIGTERM", "SIGINT"])
    test(`the first ${signal} drains and gives 0`, async () => {
      const { host, raise, codes } = fakeHost();
      const running = service();
      const code = runService(host, silentLog, async () => running, false);
      await Promise.resolve();
      raise(signal);
      expect(await code).toBe(0);
      expect(running.stopped).toBe(1);
      expect(codes).toEqual([]);
    });

  test("the second signal exits at once with 128 and its number", async () => {
    const { host, raise, codes } = fakeHost();
    void runService(host, silentLog, () => new Promise(() => {}), false);
    raise("SIGTERM");
    raise("SIGTERM");
    raise("SIGINT");
    expect(codes).toEqual([143, 130]);
  });

  test("a signal during the start stops the service as soon as it is there", async () => {
    const { host, raise } = fakeHost();
    const running = service();
    let started: () => void = () => {};
    const code = runService(
      host,
      silentLog,
      () =>
        new Promise((resolve) => {
          started = () => resolve(running);
        }),
      false,
    );
    raise("SIGTERM");
    started();
    expect(await code).toBe(0);
    expect(running.stopped).toBe(1);
  });

  test("a start that gives up because a stop was asked for is no failure", async () => {
    const { host, raise } = fakeHost();
    const code = runService(
      host,
      silentLog,
      (stopping) =>
        new Promise((_, reject) =>
          stopping.addEventListener("abort", () => reject(new Error("stopped"))),
        ),
      false,
    );
    raise("SIGTERM");
    expect(await code).toBe(0);
  });
});

test("the end of standard input drains when it was asked for, and only then", async () => {
  const asked = fakeHost();
  const running = service();
  const code = runService(asked.host, silentLog, async () => running, true);
  asked.stdin.emit("end");
  expect(await code).toBe(0);
  const unasked = fakeHost();
  void runService(unasked.host, silentLog, async () => service(), false);
  expect(unasked.stdin.listenerCount("end")).toBe(0);
});

test("a service that ends by itself gives its exit code and is stopped", async () => {
  const { host } = fakeHost();
  const running = service();
  const code = await runService(
    host,
    silentLog,
    async () => ({ stop: running.stop, exited: Promise.resolve(42) }),
    false,
  );
  expect(code).toBe(42);
  expect(running.stopped).toBe(1);
});

for (const event of ["unhandledRejection", "uncaughtException"])
  test(`an ${event} stops the service and exits 70`, async () => {
    const { host, raise, codes, exit } = fakeHost();
    const running = service();
    void runService(host, silentLog, async () => running, false);
    await Promise.resolve();
    raise(event);
    await exit;
    expect(codes).toEqual([70]);
    expect(running.stopped).toBe(1);
  });

test("a stop that fails gives 70", async () => {
  const { host, raise } = fakeHost();
  const code = runService(
    host,
    silentLog,
    async () => ({ stop: () => Promise.reject(new Error("stuck")) }),
    false,
  );
  raise("SIGTERM");
  expect(await code).toBe(70);
});

test("a child that dies young waits longer each time, up to 30 s; one that lived a minute starts anew", () => {
  const waits: number[] = [];
  for (let i = 0, wait = 0; i < 9; i += 1) {
    wait = nextBackoff(wait, 10);
    waits.push(wait);
  }
  expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  expect(nextBackoff(30_000, 60_000)).toBe(500);
});
