import { canonicalAddress, classifyAddress } from "#shared/kit/addresses.ts";
import { withDeadline } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { bareHost, knownAddresses } from "#shared/protocol/egress-rules.ts";
import { tlsTrouble } from "#shared/protocol/tls-trouble.ts";
import { openSocket, openTlsSocket, Waiting } from "./connect.ts";
import { forwardHttp } from "./forward.ts";
import type { End, GateSocket } from "./gate-socket.ts";
import type { Judge, Resolve } from "./judge.ts";
import { EgressError, NoTunnelError, type OpenSocket, type Reached, reach } from "./reach.ts";
import type { Upstream } from "./upstream.ts";
import { connectByHttp, connectBySocks, type Line } from "./upstream-speech.ts";

/** Names that the proxy resolves are first looked up here, for at most this long. */
const LOOK_UP_MS = 3_000;
/** Proxy and server together; Chromium waits 30 s. */
const THROUGH_MS = 25_000;
/** The names that a proxy is given: registered names, and nothing that it could parse differently from the gate. */
const PROXY_NAME = /^[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/i;

interface Deps {
  judge: Judge;
  resolve: Resolve;
}

/** For the fleet operator's own proxy: the operator decides where it listens. */
const TRUSTED: Pick<Judge, "refusal" | "refusalOfPlace"> = {
  refusal: () => null,
  refusalOfPlace: () => null,
};

/**
 * Reaches a place through a proxy, which resolves its name. Judges addresses as written, names as spelled, and the
 * addresses to which a name resolves here, if it does. @throws EgressError
 */
export async function reachThrough(
  upstream: Upstream,
  deps: Deps,
  host: string,
  port: number,
): Promise<Reached<GateSocket>> {
  const target = canonicalAddress(host) ?? bareHost(host);
  const since = performance.now();
  await judgeTarget(deps, upstream, host, port);
  const left_ms = () => Math.max(1_000, THROUGH_MS - (performance.now() - since));
  const refused = refusedTunnels(upstream);
  const known = refused.get(port);
  if (known) return forward(upstream, deps, target, port, known);
  try {
    return await tunnel(upstream, deps, target, port, left_ms);
  } catch (err) {
    if (!(err instanceof NoTunnelError)) throw err;
    refused.set(port, err);
    return forward(upstream, deps, target, port, err);
  }
}

/** By upstream, the ports to which it has refused tunnels, so that it is not asked again for each connection. */
const NO_TUNNELS = new WeakMap<Upstream, Map<number, NoTunnelError>>();

function refusedTunnels(upstream: Upstream): Map<number, NoTunnelError> {
  const known = NO_TUNNELS.get(upstream) ?? new Map<number, NoTunnelError>();
  NO_TUNNELS.set(upstream, known);
  return known;
}

async function tunnel(
  upstream: Upstream,
  deps: Deps,
  target: string,
  port: number,
  left_ms: () => number,
): Promise<Reached<GateSocket>> {
  const { socket, address } = await reachProxy(upstream, deps);
  const line =
    upstream.scheme === "socks5"
      ? connectBySocks(upstream, target, port)
      : connectByHttp(upstream, target, port);
  try {
    await withDeadline("the proxy", left_ms(), converse(socket, line, upstream));
  } catch (err) {
    socket.terminate();
    throw err instanceof EgressError
      ? err
      : new EgressError(
          "connection_timed_out",
          `the proxy ${upstream.shown} did not answer in time whether it can reach ${target}:${port}`,
        );
  }
  return { socket, address };
}

/** Without a tunnel only plain HTTP goes through, which the client's first bytes show. */
async function forward(
  upstream: Upstream,
  deps: Deps,
  target: string,
  port: number,
  refusal: NoTunnelError,
): Promise<Reached<GateSocket>> {
  const reached = await reachProxy(upstream, deps);
  return { ...reached, carry: forwardHttp(upstream, target, port, refusal) };
}

async function judgeTarget(
  { judge, resolve }: Deps,
  { shown }: Upstream,
  host: string,
  port: number,
): Promise<void> {
  const refuse = (reason: string) => new EgressError("refused_by_gate", reason);
  const named = judge.refusalOfPlace(host, port);
  if (named) throw refuse(named);
  const known = knownAddresses(host);
  if (known.some((address) => classifyAddress(address) === "loopback"))
    throw refuse(
      `${host} would mean the machine of the proxy ${shown}: name it in the proxy's bypass list to reach this machine`,
    );
  if (known.length > 0) return;
  if (!PROXY_NAME.test(host)) throw refuse(`${host} is not a host name`);
  const here = await withDeadline("DNS", LOOK_UP_MS, resolve(host)).catch(() => []);
  const reason =
    here.length === 0
      ? judge.refusalOfName(host, port)
      : here.map((address) => judge.refusal(address, port, host)).find((said) => said !== null);
  if (reason) throw refuse(here.length === 0 ? reason : `${host}: ${reason}`);
}

async function reachProxy(
  upstream: Upstream,
  { judge, resolve }: Deps,
): Promise<Reached<GateSocket>> {
  const { scheme, host, port, trusted, shown } = upstream;
  const open: OpenSocket<GateSocket> = scheme === "https" ? openTlsSocket(host) : openSocket;
  try {
    return await reach({ judge: trusted ? TRUSTED : judge, resolve, open }, host, port);
  } catch (err) {
    const told = err instanceof EgressError ? err : null;
    if (told?.failure === "refused_by_gate")
      throw new EgressError("refused_by_gate", `the proxy ${shown}: ${told.message}`);
    const trouble = tlsTrouble(told?.message);
    if (told?.failure === "proxy_certificate_invalid")
      throw new EgressError(told.failure, `the proxy ${shown}: ${trouble ?? told.message}`);
    throw new EgressError(
      "proxy_connection_failed",
      `the proxy ${shown} cannot be reached: ${errorMessage(err)}`,
    );
  }
}

/** Sends one line after the other. Bytes after the last answer wait for the tunnel. @throws EgressError */
async function converse(socket: GateSocket, first: Line, upstream: Upstream): Promise<void> {
  let line: Line | null = first;
  while (line !== null) line = await sayLine(socket, line, upstream);
}

function sayLine(socket: GateSocket, line: Line, { shown }: Upstream): Promise<Line | null> {
  const before = socket.data;
  const { promise, resolve, reject } = Promise.withResolvers<Line | null>();
  let held: Buffer = Buffer.concat(before instanceof Waiting ? before.early : []);
  const look = () => {
    try {
      const answer = line.read(held);
      if (answer === null) return;
      const waiting = new Waiting();
      if (answer.taken < held.length) waiting.early.push(held.subarray(answer.taken));
      socket.data = waiting;
      resolve(answer.next);
    } catch (err) {
      reject(err);
    }
  };
  const gone = () =>
    reject(new EgressError("tunnel_connection_failed", `the proxy ${shown} hung up`));
  const asking: End = {
    data: (chunk) => {
      held = Buffer.concat([held, chunk]);
      look();
    },
    drain: () => {},
    closed: gone,
  };
  socket.data = asking;
  if (before instanceof Waiting && before.gone) gone();
  else if (socket.write(line.say) < line.say.length) gone();
  else if (held.length > 0) look();
  return promise;
}
