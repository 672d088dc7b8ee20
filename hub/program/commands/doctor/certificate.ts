import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { rootCertificates } from "node:tls";
import type { HubConfig } from "#hub/platform/config.ts";
import { type LoadedTls, loadTls } from "#hub/platform/http/tls-files.ts";
import { ConfigError } from "#shared/kit/env.ts";
import { hubTls } from "#shared/protocol/trust.ts";
import { type Check, fail, ok, warn } from "./check.ts";

/** Finds what is wrong with a hub's own certificate before others fail to connect. */

const NAME = "certificate";
const DAY_MS = 86_400_000;
/** Earlier than the log, which warns 14 days before the end. */
const SOON_DAYS = 21;

type Names = Pick<HubConfig, "tls" | "public_base_url" | "advertise_url">;

/** @param now epoch ms. */
export function checkCertificate(config: Names, now = Date.now()): Check {
  const { tls } = config;
  if (tls === null) return ok(NAME, "none: the hub speaks plain HTTP");
  let loaded: LoadedTls;
  try {
    loaded = loadTls(tls);
  } catch (err) {
    if (!(err instanceof ConfigError)) throw err;
    return fail(NAME, err.message, "the hub will not start with it: fix what the message names");
  }
  const { certificate } = loaded;
  const left_days = Math.floor((Date.parse(certificate.validTo) - now) / DAY_MS);
  const found = `${tls.cert}: ${certificate.subject ?? "no subject"}, expires in ${left_days} days (${certificate.validTo})`;
  if (left_days < 0)
    return fail(
      NAME,
      `${tls.cert} has expired (${certificate.validTo})`,
      "renew it: the hub takes new files within 5 s",
    );
  const wrong = lackingName(certificate, config);
  if (wrong !== null) return wrong;
  if (!isTrusted(loaded, now))
    return warn(
      NAME,
      `${found}; it is not signed by an authority that this machine trusts`,
      "set SVC_TLS_CA of workers, commands and other hubs to the file of the authority that signed it",
    );
  if (left_days < SOON_DAYS)
    return warn(NAME, found, "renew it: the hub takes new files within 5 s");
  return ok(NAME, found);
}

/** The other hubs and the workers use exactly these names. */
function lackingName(certificate: X509Certificate, config: Names): Check | null {
  const addresses = [
    ["PUBLIC_BASE_URL", config.public_base_url],
    ["SVC_ADVERTISE_URL", config.advertise_url],
  ] as const;
  for (const [variable, url] of addresses) {
    if (url === null || !URL.canParse(url) || !url.startsWith("https:")) continue;
    const host = new URL(url).hostname.replace(/^\[|\]$/g, "");
    const has = isIP(host) ? certificate.checkIP(host) : certificate.checkHost(host);
    if (has !== undefined) continue;
    const names = certificate.subjectAltName ?? "none";
    const said = `its names (${names}) do not include ${host} from ${variable}`;
    // A router in front of several hubs may have that name, and its own certificate.
    return variable === "PUBLIC_BASE_URL"
      ? warn(
          NAME,
          said,
          `sign it for ${host} too, unless a router in front of the hub has that name`,
        )
      : fail(NAME, said, `sign it for ${host} too: the other hubs use that name to reach this one`);
  }
  return null;
}

const PEM = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

const certificatesIn = (pem: string): X509Certificate[] =>
  (pem.match(PEM) ?? []).map((one) => new X509Certificate(one));

/** Whether the chain in the file leads to an authority that SVC_TLS_CA names, or that the runtime trusts. */
function isTrusted({ cert, certificate }: LoadedTls, now: number): boolean {
  const ca = hubTls().tls?.ca;
  const authorities = (ca === undefined ? rootCertificates : [ca]).flatMap(certificatesIn);
  const between = certificatesIn(cert).slice(1);
  const signed = (by: X509Certificate, one: X509Certificate) =>
    one.checkIssued(by) && one.verify(by.publicKey) && Date.parse(by.validTo) > now;
  let last = certificate;
  for (let depth = 0; depth <= between.length; depth += 1) {
    const current = last;
    if (authorities.some((one) => one.raw.equals(current.raw) || signed(one, current))) return true;
    const next = between.find((one) => signed(one, current));
    if (next === undefined) return false;
    last = next;
  }
  return false;
}
