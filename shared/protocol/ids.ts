import { customAlphabet, nanoid } from "nanoid";

const short = customAlphabet("0123456789abcdefghijklmnopqrstuvwxyz", 14);

/** Opaque short job id (rules/jobs#job-record): 14 of [0-9a-z], about 72 bits. */
export const newJobId = (): string => short();

/** Opaque id of a watch, as a job's. */
export const newWatchId = (): string => short();

/** URL-safe session id with 132 bits of randomness (rules/sessions#session-id). */
export const newSessionId = (): string => nanoid(22);

export const SESSION_ID = /^[A-Za-z0-9_-]{22}$/;

/** Bearer token for uploads and bridges, 192 bits. */
export const newToken = (): string => nanoid(32);

const group = customAlphabet("23456789abcdefghjkmnpqrstuvwxyz", 5);

/** Four groups of five letters and digits that are not easily confused; about 99 bits. */
export const newPassword = (): string => [group(), group(), group(), group()].join("-");

/**
 * Worker id from a LAN IPv4 address: `w` and the last two octets written one after the other
 * (rules/workers#worker-id): 192.168.1.23 → `w123`.
 */
export function workerIdFromAddress(ipv4: string): string {
  const [, , third, fourth] = ipv4.split(".");
  if (third === undefined || fourth === undefined) throw new Error(`not an IPv4 address: ${ipv4}`);
  return `w${third}${fourth}`;
}

/** A worker id, which must be valid in a path. */
export const WORKER_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

const instance = customAlphabet("0123456789abcdefghijklmnopqrstuvwxyz", 8);

/** Name of a worker instance on a host, which is also its worker id. */
export const newInstanceId = (host: string): string =>
  `${host.replace(/[^A-Za-z0-9_-]+/g, "-").slice(0, 40)}-${instance()}`;
