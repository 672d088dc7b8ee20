import { afterEach, expect, test } from "bun:test";
import { createServer, type Server } from "node:net";
import { pickLanePorts } from "#hub/program/lane-ports.ts";
import { CDP_PORT_BASE } from "#shared/protocol/limits.ts";

let taken: Server[] = [];

/** Takes the port; somebody else of this machine having it already serves the test as well. */
const take = (port: number) =>
  new Promise<void>((resolve) => {
    const server = createServer();
    server.once("error", () => resolve());
    server.listen(port, "127.0.0.1", () => {
      taken.push(server);
      resolve();
    });
  });

afterEach(async () => {
  for (const server of taken) await new Promise((resolve) => server.close(resolve));
  taken = [];
});

test("a lane port that is taken moves every base of the worker by the same step", async () => {
  await take(CDP_PORT_BASE + 1);
  const ports = await pickLanePorts({}, 2);
  const offset = Number(ports.SVC_CDP_PORT_BASE) - CDP_PORT_BASE;
  expect(offset).toBeGreaterThanOrEqual(100);
  expect(ports).toEqual({
    SVC_DISPLAY_BASE: String(100 + offset),
    SVC_CDP_PORT_BASE: String(9223 + offset),
    SVC_VNC_PORT_BASE: String(5901 + offset),
    NOVNC_BASE_PORT: String(6080 + offset),
  });
});

test("a base that the environment names is left alone", async () => {
  await take(CDP_PORT_BASE);
  expect(await pickLanePorts({ SVC_CDP_PORT_BASE: String(CDP_PORT_BASE) }, 1)).toEqual({});
});
