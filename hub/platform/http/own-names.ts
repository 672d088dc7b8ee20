import type { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** Names from the configuration, which the operator declares as this machine's own. */
export interface NamedBy {
  readonly host: string;
  readonly public_base_url: string | null;
  readonly advertise_url: string | null;
}

const linesOf = (file: string): string[] => {
  try {
    return readFileSync(file, "utf8").split("\n");
  } catch {
    return [];
  }
};

const wordsOf = (line: string): string[] =>
  (line.split("#")[0] ?? "")
    .trim()
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");

/** The domains in which the machine's resolver completes a short name. */
const searchDomains = (resolv_conf: readonly string[]): string[] =>
  resolv_conf
    .map(wordsOf)
    .filter(([key]) => key === "search" || key === "domain")
    .flatMap(([, ...domains]) => domains);

/**
 * Names of a machine: its host name, short and as it is, in `.local` (mDNS), in its search domains, and as its hosts
 * file completes it. Other names in that file do not count, because people put strangers' names there to block them.
 */
export function machineNames(
  host_name: string,
  hosts: readonly string[],
  resolv_conf: readonly string[],
): string[] {
  const full = host_name.toLowerCase();
  const short = full.split(".")[0] ?? full;
  const domains = ["local", ...searchDomains(resolv_conf)];
  const completed = hosts
    .flatMap((line) => wordsOf(line).slice(1))
    .filter((name) => name.startsWith(`${short}.`));
  return [full, short, ...domains.map((domain) => `${short}.${domain}`), ...completed];
}

const namesOfCertificate = (certificate: X509Certificate): string[] =>
  [...(certificate.subjectAltName ?? "").matchAll(/DNS:([^,\s]+)/g)].flatMap(([, name]) =>
    name === undefined ? [] : [name.toLowerCase()],
  );

const hostOf = (url: string | null): string[] => (url === null ? [] : [new URL(url).hostname]);

/** Every name by which clients may call this server, except those of its peers and of SVC_ALLOWED_HOSTS. */
export const ownNames = (
  { host, public_base_url, advertise_url }: NamedBy,
  certificate: X509Certificate | null,
): string[] => [
  ...new Set([
    ...machineNames(hostname(), linesOf("/etc/hosts"), linesOf("/etc/resolv.conf")),
    host.toLowerCase(),
    ...hostOf(public_base_url),
    ...hostOf(advertise_url),
    ...(certificate === null ? [] : namesOfCertificate(certificate)),
  ]),
];
