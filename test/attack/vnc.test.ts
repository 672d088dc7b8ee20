import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { dialScreen } from "#hub/fleet/viewer/dial.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { HOST_ID_HEADER, hostId } from "#shared/kit/host-id.ts";
import { silentLog } from "#shared/kit/log.ts";
import { answerTo, newVncSecret } from "#shared/protocol/vnc-auth.ts";
import { laneEnv, makeDataDir } from "#test/support/rigs/lane-pool.ts";
import { freePort } from "#test/support/servers/ports.ts";
import { type Bridges, startBridges } from "#worker/browser/bridge/bridge.ts";
import { dialVnc } from "#worker/browser/lanes/dial-vnc.ts";
import { createLanePool, type LanePool } from "#worker/browser/lanes/pool.ts";
import { newXCookie, xHello } from "#worker/browser/lanes/x-authority.ts";
import type { LiveSession } from "#worker/browser/session/live-session.ts";
import { loadWorkerConfig } from "#worker/config.ts";

/** Other users of a worker's machine: they reach a lane's port and socket, and see nothing of its screen. */

const SLOW_MS = 240_000;
const VERSION = "RFB 003.008\n";
const [NONE, VNC_AUTH] = [1, 2];
const SHARED = Uint8Array.of(1);
const TOKEN = "token-of-the-link";

let pool: LanePool;
let bridges: Bridges;
let data_dir: string;
let ports: { vnc: number; display: number; bridge: number };
beforeAll(async () => {
  data_dir = makeDataDir();
  const config = loadWorkerConfig(laneEnv(data_dir, { LANE_POOL: "1" }), {});
  const { vnc_port_base: vnc, display_base: display, cdp_port_base } = config.lanes;
  ports = { vnc, display, bridge: freePort() };
  pool = await createLanePool({ config, log: silentLog, clock: systemClock });
  const session = {
    session_id: "s",
    lane_idx: 0,
    signal: new AbortController().signal,
    browser: () => null,
  };
  bridges = await startBridges({
    host: "127.0.0.1",
    base_port: ports.bridge,
    vnc_port_base: vnc,
    cdp_port_base,
    lanes: 1,
    headless: false,
    clock: systemClock,
    log: silentLog,
    sessions: { get: () => session as unknown as LiveSession },
    refusalOfUrl: () => null,
    resizeScreen: pool.resizeScreen,
    vncSecret: pool.vncSecret,
    token: () => TOKEN,
  });
}, SLOW_MS);
afterAll(async () => {
  await bridges?.close();
  await pool?.close();
  rmSync(data_dir, { recursive: true, force: true });
}, SLOW_MS);

interface Talk {
  /** Null when the other side has closed before so much came. */
  take(bytes: number): Promise<Buffer | null>;
  say(bytes: string | Uint8Array): void;
  end(): void;
}

function talkTo(to: { port: number } | { path: string }): Talk {
  const socket = connect("port" in to ? { host: "127.0.0.1", port: to.port } : to);
  let received: Buffer = Buffer.alloc(0);
  let over = false;
  let wake = () => {};
  socket.on("data", (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
    wake();
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    over = true;
    wake();
  });
  return {
    take: async (bytes) => {
      while (received.length < bytes && !over)
        await new Promise<void>((resolve) => (wake = resolve));
      if (received.length < bytes) return null;
      const taken = received.subarray(0, bytes);
      received = received.subarray(bytes);
      return taken;
    },
    say: (bytes) => void socket.write(bytes),
    end: () => socket.destroy(),
  };
}

/** As far as a client without the secret comes: the types that it is offered. */
async function offered(talk: Talk): Promise<number[]> {
  expect((await talk.take(12))?.toString("latin1")).toBe(VERSION);
  talk.say(VERSION);
  const count = (await talk.take(1))?.[0] ?? 0;
  return [...((await talk.take(count)) ?? [])];
}

/** Whether the server tells what it shows after this was said to it. */
async function getsPicture(talk: Talk): Promise<boolean> {
  talk.say(SHARED);
  const result = await talk.take(4);
  if (result === null || result.readUInt32BE(0) !== 0) return false;
  return (await talk.take(24)) !== null;
}

test(
  "a lane's VNC server offers nothing but a password, and shows nothing to who asks for nothing",
  async () => {
    const talk = talkTo({ port: ports.vnc });
    expect(await offered(talk)).toEqual([VNC_AUTH]);
    talk.say(Uint8Array.of(NONE));
    expect(await getsPicture(talk)).toBe(false);
    talk.end();
  },
  SLOW_MS,
);

test(
  "a client of the first version, for which the server chooses, is asked for it too",
  async () => {
    const talk = talkTo({ port: ports.vnc });
    await talk.take(12);
    talk.say("RFB 003.003\n");
    expect((await talk.take(4))?.readUInt32BE(0)).toBe(VNC_AUTH);
    talk.say(answerTo((await talk.take(16)) ?? Buffer.alloc(16), newVncSecret()));
    expect(await getsPicture(talk)).toBe(false);
    talk.end();
  },
  SLOW_MS,
);

test(
  "wrong secrets are refused, none and parts of the right one as well, and lock nobody out",
  async () => {
    const right = pool.vncSecret(0);
    expect(right).toMatch(/^[\w-]{8}$/);
    for (const wrong of ["", right.slice(0, 7), right.toUpperCase() + right, newVncSecret()]) {
      if (wrong.slice(0, 8) === right) continue;
      const talk = talkTo({ port: ports.vnc });
      expect(await offered(talk)).toEqual([VNC_AUTH]);
      talk.say(Uint8Array.of(VNC_AUTH));
      talk.say(answerTo((await talk.take(16)) ?? Buffer.alloc(16), wrong));
      expect(await getsPicture(talk)).toBe(false);
      talk.end();
    }
    const socket = await dialVnc(ports.vnc, right);
    const init = new Promise<Buffer>((resolve) => socket.once("data", resolve));
    socket.write(SHARED);
    socket.resume();
    expect((await init).readUInt16BE(0)).toBe(1_920);
    socket.destroy();
  },
  SLOW_MS,
);

test(
  "the X server behind it lets in nobody without its cookie, through neither of its sockets",
  async () => {
    const path = `/tmp/.X11-unix/X${ports.display}`;
    const PLAIN = Buffer.from([0x6c, 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    for (const to of [path, `\0${path}`])
      for (const hello of [PLAIN, xHello(newXCookie()), xHello(Buffer.alloc(0))]) {
        const talk = talkTo({ path: to });
        talk.say(hello);
        // 0 says refused, 1 that it is in.
        expect((await talk.take(1))?.[0] ?? 0).toBe(0);
        talk.end();
      }
  },
  SLOW_MS,
);

test(
  "what both ask for lies in files of the worker's user alone, and goes with the lane",
  async () => {
    const secrets = readdirSync(join(data_dir, "lanes"), { recursive: true, withFileTypes: true })
      .filter(({ name }) => /^(vnc|xauthority)/.test(name))
      .map(({ parentPath, name }) => join(parentPath, name));
    expect(secrets.length).toBeGreaterThanOrEqual(2);
    for (const path of secrets) expect(statSync(path).mode & 0o777).toBe(0o600);
    const own = laneEnv(makeDataDir(), { LANE_POOL: "1" });
    const other = await createLanePool({
      config: loadWorkerConfig(own, {}),
      log: silentLog,
      clock: systemClock,
    });
    await other.close();
    const left = readdirSync(join(own.SVC_DATA_DIR as string, "lanes"));
    expect(left.filter((name) => /^(vnc|xauthority)/.test(name))).toEqual([]);
    expect(existsSync(own.SVC_DATA_DIR as string)).toBe(true);
    rmSync(own.SVC_DATA_DIR as string, { recursive: true, force: true });
  },
  SLOW_MS,
);

/** Shakes hands as a viewer does, and answers the width of the screen. */
async function widthShownTo(talk: Talk): Promise<number | undefined> {
  expect(await offered(talk)).toEqual([NONE]);
  talk.say(Uint8Array.of(NONE));
  expect((await talk.take(4))?.readUInt32BE(0)).toBe(0);
  talk.say(SHARED);
  return (await talk.take(24))?.readUInt16BE(0);
}

const upgrade = (headers: Record<string, string>): string =>
  [
    "GET /sessions/s/websockify HTTP/1.1",
    ...["Host: x", "Connection: Upgrade", "Upgrade: rfb"],
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...["", ""],
  ].join("\r\n");

async function headOf(talk: Talk): Promise<string> {
  let head = "";
  while (!head.endsWith("\r\n\r\n")) {
    const byte = await talk.take(1);
    if (byte === null) break;
    head += byte.toString("latin1");
  }
  return head;
}

test(
  "a bridge tells the secret to nobody without the token of its link",
  async () => {
    const asked = { [HOST_ID_HEADER]: hostId() ?? "", "flotilla-vnc-secret": "taken" };
    for (const headers of [asked, { ...asked, Authorization: "Bearer wrong" }]) {
      const talk = talkTo({ port: ports.bridge });
      talk.say(upgrade(headers));
      const head = await headOf(talk);
      expect(head).toStartWith("HTTP/1.1 401");
      expect(head).not.toContain(pool.vncSecret(0));
      talk.end();
    }
  },
  SLOW_MS,
);

test(
  "a hub from before there were secrets is shown the screen by the bridge, and told none",
  async () => {
    const same_host: Record<string, string> = { [HOST_ID_HEADER]: hostId() ?? "" };
    for (const headers of [same_host, {}]) {
      const talk = talkTo({ port: ports.bridge });
      talk.say(upgrade({ ...headers, Authorization: `Bearer ${TOKEN}` }));
      const head = await headOf(talk);
      expect(head).toStartWith("HTTP/1.1 101");
      expect(head).not.toContain(pool.vncSecret(0));
      expect(await widthShownTo(talk)).toBe(1_920);
      talk.end();
    }
  },
  SLOW_MS,
);

test(
  "a hub of today shows it as a server without a password, and a screen takes another size",
  async () => {
    const target = { base: `http://127.0.0.1:${ports.bridge}`, token: TOKEN };
    const stream = await dialScreen(target, "/sessions/s/websockify");
    let said = Buffer.alloc(0);
    const whole = new Promise<void>((resolve) =>
      stream.start({
        data: (chunk) => {
          said = Buffer.concat([said, chunk]);
          if (said.length >= 12 + 2 + 4 + 24) resolve();
        },
        close: resolve,
      }),
    );
    stream.write(Buffer.concat([Buffer.from(VERSION), Uint8Array.of(NONE), SHARED]));
    await whole;
    expect(said.subarray(0, 14).toString("latin1")).toBe(`${VERSION}\x01\x01`);
    expect(said.readUInt16BE(18)).toBe(1_920);
    stream.close();
    await pool.resizeScreen(0, { width: 1_000, height: 700 });
    await pool.resizeScreen(0, null);
  },
  SLOW_MS,
);
