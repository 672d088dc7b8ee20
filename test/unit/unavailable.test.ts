import { expect, test } from "bun:test";
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
