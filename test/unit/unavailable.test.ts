import { expect, test } from "bun:test";
import { toUnavailable } from "#hub/platform/db/postgres-errors.ts";
import { openShared } from "#hub/platform/stores/open-shared.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { ConfigError, UnavailableError } from "#shared/kit/env.ts";
import { silentLog } from "#shared/kit/log.ts";
import { freePort } from "#test/support/servers/ports.ts";

const open = (url: string) =>
  openShared({ driver: "redis", url, prefix: "t:" }, { clock: systemClock, log: silentLog }).then(
    () => null,
    (err: unknown) => err,
  );

/** Answers every call as a Redis with a password does. */
const refusing = () =>
  Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { data: (socket) => void socket.write("-NOAUTH Authentication required.\r\n") },
  });

test("a Redis that is away is not a bad value, one that refuses the URL is", async () => {
  const away = await open(`redis://:hunter2@127.0.0.1:${freePort()}`);
  expect(away).toBeInstanceOf(UnavailableError);
  expect(String(away)).toStartWith("ConfigError: SVC_REDIS_URL: cannot use Redis at 127.0.0.1:");
  expect(String(away)).not.toContain("hunter2");
  const server = refusing();
  try {
    const refused = await open(`redis://127.0.0.1:${server.port}`);
    expect(refused).toBeInstanceOf(ConfigError);
    expect(refused).not.toBeInstanceOf(UnavailableError);
    expect(String(refused)).toContain("NOAUTH");
  } finally {
    server.stop(true);
  }
});

test("a Postgres whose disk is full is told as that, and not as a database that is away", () => {
  const full = Object.assign(new Error("could not extend file"), { code: "53100" });
  const wrapped = new Error("Failed query: insert into jobs", { cause: full });
  const told = toUnavailable(wrapped);
  expect([told?.kind, told?.message]).toEqual(["unavailable", "the disk of the database is full"]);
  const away = Object.assign(new Error("connection refused"), { code: "ECONNREFUSED" });
  expect(toUnavailable(away)?.message).toStartWith("the database is not available: ");
  expect(toUnavailable(Object.assign(new Error("a key"), { code: "23505" }))).toBeNull();
});
