import { setDeadline } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { knownAddresses } from "#shared/protocol/egress-rules.ts";
import type { Judge, Resolve } from "./judge.ts";

/**
 * Why a connection was not made. `refused_by_gate`: no connection was attempted; the message says which rule prevented
 * it. The others are Chromium's names without `ERR_`, in lower case; the last four are failures at an upstream proxy.
 */
const EGRESS_FAILURES = [
  "refused_by_gate",
  "name_not_resolved",
  "connection_refused",
  "connection_timed_out",
  "connection_reset",
  "address_unreachable",
  "network_access_denied",
  "connection_failed",
  "proxy_connection_failed",
  "proxy_auth_requested",
  "proxy_certificate_invalid",
  "tunnel_connection_failed",
] as const;
export type EgressFailure = (typeof EGRESS_FAILURES)[number];

export class EgressError extends Error {
  override readonly name = "EgressError";
  readonly failure: EgressFailure;
  constructor(failure: EgressFailure, message: string) {
    super(message);
    this.failure = failure;
  }
}

/** The proxy makes no tunnel there by its own rules, but may carry plain HTTP. */
export class NoTunnelError extends EgressError {
  constructor(message: string) {
    super("tunnel_connection_failed", message);
  }
}

/** How a socket is opened. `abandon` is called when another attempt was faster, or the time is over. */
export type OpenSocket<S> = (
  address: string,
  port: number,
) => { opened: Promise<S>; abandon(): void };

/** While one address stays silent for this long, the next is tried in parallel (RFC 8305). */
const NEXT_ADDRESS_MS = 300;
/** Chromium waits 30 s for a SOCKS proxy, and does not tell the page why. */
const REACH_MS = 25_000;
const MAX_ADDRESSES = 8;

/** Rewrites what a client sends on its way to the server. */
export interface Carry {
  /** @throws EgressError when the client must not go on. */
  take(chunk: Buffer): Uint8Array[];
}

export interface Reached<S> {
  socket: S;
  address: string;
  /** What the client sends goes to the server by this. */
  carry?: Carry;
}

/**
 * The only way out: resolves the name, judges each address and connects to an allowed one, so that the address that
 * was judged is the one that is used. One that has waited for another is judged again. `first`: the address to begin
 * with, so that reports about one connection to a place hold for the others. @throws EgressError
 */
export async function reach<S>(
  {
    judge,
    resolve,
    open,
  }: {
    judge: Pick<Judge, "refusal" | "refusalOfPlace">;
    resolve: Resolve;
    open: OpenSocket<S>;
  },
  host: string,
  port: number,
  first: string | null = null,
): Promise<Reached<S>> {
  const named = judge.refusalOfPlace(host, port);
  if (named) throw new EgressError("refused_by_gate", named);
  const addresses = await addressesOf(resolve, host);
  const allowed: string[] = [];
  let reason: string | null = null;
  for (const address of addresses) {
    const refusal = judge.refusal(address, port, host);
    if (refusal === null) allowed.push(address);
    else reason ??= address === host ? refusal : `${host}: ${refusal}`;
  }
  if (allowed.length === 0)
    throw reason === null
      ? new EgressError("name_not_resolved", `${host} has no address`)
      : new EgressError("refused_by_gate", reason);
  if (first !== null && allowed.includes(first)) allowed.unshift(first);
  return connectFirst([...new Set(allowed)].slice(0, MAX_ADDRESSES), port, {
    open,
    refusal: (address) => judge.refusal(address, port, host),
  });
}

async function addressesOf(resolve: Resolve, host: string): Promise<string[]> {
  const known = knownAddresses(host);
  if (known.length > 0) return known;
  try {
    return await resolve(host);
  } catch (err) {
    throw new EgressError("name_not_resolved", `${host} does not resolve: ${errorMessage(err)}`);
  }
}

/** Connects to the first address that answers; the other attempts are given up. */
function connectFirst<S>(
  addresses: readonly string[],
  port: number,
  { open, refusal }: { open: OpenSocket<S>; refusal(address: string): string | null },
): Promise<Reached<S>> {
  const { promise, resolve, reject } = Promise.withResolvers<Reached<S>>();
  const waiting = new Map<string, () => void>();
  let next = 0;
  let over = false;
  let first: EgressError | null = null;
  let pause: ReturnType<typeof setTimeout> | undefined;
  const end = () => {
    over = true;
    clearTimeout(pause);
    cancel();
    for (const abandon of waiting.values()) abandon();
  };
  const cancel = setDeadline(REACH_MS, () => {
    end();
    reject(new EgressError("connection_timed_out", `${addresses[0]}:${port} does not answer`));
  });
  const tryNext = () => {
    clearTimeout(pause);
    const address = addresses[next++];
    if (over || address === undefined) return;
    if (next < addresses.length) pause = setTimeout(tryNext, NEXT_ADDRESS_MS);
    // A page can have the first address stay silent until something that it may not reach listens at the next.
    const refused = next > 1 ? refusal(address) : null;
    const { opened, abandon } = refused === null ? open(address, port) : notOpened<S>(refused);
    waiting.set(address, abandon);
    opened.then(
      (socket) => {
        waiting.delete(address);
        if (over) return;
        end();
        resolve({ socket, address });
      },
      (err) => {
        waiting.delete(address);
        if (over) return;
        first ??= errorOf(err, address, port);
        if (next < addresses.length) return tryNext();
        if (waiting.size > 0) return;
        end();
        reject(first);
      },
    );
  };
  tryNext();
  return promise;
}

const notOpened = <S>(reason: string): ReturnType<OpenSocket<S>> => ({
  opened: Promise.reject(new EgressError("refused_by_gate", reason)),
  abandon: () => {},
});

const FAILURES: Record<string, EgressFailure> = {
  ECONNREFUSED: "connection_refused",
  ECONNRESET: "connection_reset",
  ETIMEDOUT: "connection_timed_out",
  EHOSTUNREACH: "address_unreachable",
  EHOSTDOWN: "address_unreachable",
  ENETUNREACH: "address_unreachable",
  ENETDOWN: "address_unreachable",
  EADDRNOTAVAIL: "address_unreachable",
  EINVAL: "address_unreachable",
  EACCES: "network_access_denied",
  EPERM: "network_access_denied",
};

function errorOf(err: unknown, address: string, port: number): EgressError {
  if (err instanceof EgressError) return err;
  const code = String((err as { code?: unknown } | null)?.code ?? "");
  const failure = FAILURES[code] ?? "connection_failed";
  return new EgressError(failure, `${address}:${port}: ${code || errorMessage(err)}`);
}
