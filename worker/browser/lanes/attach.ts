import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { callWithin } from "#shared/kit/call-within.ts";
import { systemClock, withDeadline } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { readUpTo } from "#shared/kit/read-up-to.ts";
import { CdpConnection } from "../cdp/connection.ts";
import { socketTransport } from "../cdp/transport.ts";
import { detectCapture } from "../process/launch.ts";
import type { LaneBrowser, RunDirs } from "./lane-browser.ts";

const ASK_MS = 5_000;
const MAX_ANSWER = 64 * 1024;

/** Says why an address may not be connected to; `worker/egress/judge.ts` has the rules. */
export interface AddressGuard {
  refusal(address: string, port: number, host: string): string | null;
  refusalOfPlace(host: string, port: number): string | null;
}

/** `[HOST:]PORT`; the host defaults to this machine. */
function parseAddress(raw: string): { host: string; port: number } {
  const cut = raw.lastIndexOf(":");
  const host = cut === -1 ? "127.0.0.1" : raw.slice(0, cut).replace(/^\[|\]$/g, "");
  const port = Number(raw.slice(cut + 1));
  if (port < 1 || port > 65_535) throw new Error(`attach: ${port} is not a port`);
  return { host, port };
}

/**
 * Connects to the DevTools port of a browser that somebody else runs (rules/jobs#attach-to-a-running-browser). `kill`
 * only disconnects. Chromium accepts only IP addresses, so a name is resolved here, and the address that was checked
 * is the one that is connected to.
 * @throws Error with a message for the job
 */
export async function attachBrowser(
  raw: string,
  dirs: RunDirs,
  guard: AddressGuard,
): Promise<LaneBrowser> {
  const { host, port } = parseAddress(raw);
  const refuse = (reason: string | null) => {
    if (reason !== null) throw new Error(`attach: refused to connect to ${raw}: ${reason}`);
  };
  refuse(guard.refusalOfPlace(host, port));
  const address = isIP(host) ? host : await resolve(host);
  refuse(guard.refusal(address, port, host));
  const place = `${isIP(address) === 6 ? `[${address}]` : address}:${port}`;
  const cdp_url = await askSocket(raw, place);
  const transport = await socketTransport(cdp_url).catch((err) => {
    throw new Error(`attach: the browser at ${raw} refused the connection: ${errorMessage(err)}`);
  });
  const connection = new CdpConnection(transport);
  try {
    const version = await connection.root.send("Browser.getVersion", undefined, {
      timeout_ms: ASK_MS,
    });
    const kill = async () => connection.close();
    return {
      connection,
      cdp_url,
      cdp_port: port,
      // Its process is not ours.
      pid: 0,
      product: version.product,
      user_agent: version.userAgent,
      headless: /Headless/.test(version.userAgent),
      sandbox: "on",
      capture: await captureOf(connection),
      // Its traffic leaves however its owner set it up.
      gate: null,
      dirs,
      // When it exits, the connection closes.
      exited: new Promise(() => {}),
      kill,
    };
  } catch (err) {
    connection.close();
    throw new Error(`attach: the browser at ${raw} does not answer: ${errorMessage(err)}`);
  }
}

async function resolve(host: string): Promise<string> {
  try {
    return (await withDeadline("DNS", ASK_MS, lookup(host))).address;
  } catch (err) {
    throw new Error(`attach: ${host} cannot be resolved: ${errorMessage(err)}`);
  }
}

async function askSocket(raw: string, place: string): Promise<string> {
  const ask = async (signal: AbortSignal) => {
    const answer = await fetch(`http://${place}/json/version`, { redirect: "error", signal });
    const { bytes } = await readUpTo(answer, MAX_ANSWER);
    return new TextDecoder().decode(bytes);
  };
  const limit = { what: "its answer", ms: ASK_MS };
  const text = await callWithin(systemClock, limit, ask).catch((err: unknown) => {
    throw new Error(
      `attach: nothing answers at ${raw}: start the browser with --remote-debugging-port (${errorMessage(err)})`,
    );
  });
  const path = /"webSocketDebuggerUrl":\s*"wss?:\/\/[^/"]+(\/devtools\/browser\/[\w-]+)"/.exec(
    text,
  )?.[1];
  if (path === undefined) throw new Error(`attach: what answers at ${raw} is not Chromium`);
  // Use the address that was checked, whatever the browser calls itself.
  return `ws://${place}${path}`;
}

/** Uses a tab of its own, so nobody else's is touched. */
async function captureOf(connection: CdpConnection): Promise<LaneBrowser["capture"]> {
  const { root } = connection;
  const { targetId } = await root.send("Target.createTarget", {
    url: "about:blank",
    background: true,
  });
  try {
    return await detectCapture(connection, targetId);
  } finally {
    await root.send("Target.closeTarget", { targetId });
  }
}
