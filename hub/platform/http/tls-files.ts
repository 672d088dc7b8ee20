import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { ConfigError } from "#shared/kit/env.ts";
import { errorMessage } from "#shared/kit/errors.ts";

/** Paths of PEM files: the certificate with its intermediates, and its key. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/** What a server is started with. */
export interface TlsPair {
  cert: string;
  key: string;
}

export interface LoadedTls extends TlsPair {
  /** The server's own. */
  certificate: X509Certificate;
  /** Stamp of the files before they were read. */
  stamp: string;
}

function read(variable: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (err) {
    throw new ConfigError(`${variable}: ${whyUnread(path, err)}`);
  }
}

function whyUnread(path: string, err: unknown): string {
  switch (err instanceof Error && "code" in err ? err.code : null) {
    case "ENOENT":
      return `there is no file ${path}`;
    case "EACCES":
      return `user ${process.getuid?.()} may not read ${path}: give the service's user the right, for instance by its group`;
    default:
      return `cannot read ${path}: ${errorMessage(err)}`;
  }
}

function certificateOf(path: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw new ConfigError(`SVC_TLS_CERT: ${path} contains no certificate (PEM)`);
  }
}

function keyOf(path: string, pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    throw new ConfigError(
      `SVC_TLS_KEY: ${path} holds no private key that can be read (PEM, without a passphrase)`,
    );
  }
}

/** Reads both files. @throws ConfigError naming the variable of the one that is wrong. */
export function loadTls(files: TlsFiles): LoadedTls {
  const stamp = stampOf(files);
  const cert = read("SVC_TLS_CERT", files.cert);
  const key = read("SVC_TLS_KEY", files.key);
  const certificate = certificateOf(files.cert, cert);
  if (!certificate.checkPrivateKey(keyOf(files.key, key)))
    throw new ConfigError(
      `SVC_TLS_KEY: the key in ${files.key} does not belong to the certificate in ${files.cert}`,
    );
  return { cert, key, certificate, stamp };
}

/** Changes whenever one of the files was written or replaced, even behind a symbolic link. */
export const stampOf = ({ cert, key }: TlsFiles): string =>
  [cert, key]
    .map((path) => {
      const stat = statSync(path, { throwIfNoEntry: false });
      return stat === undefined ? "none" : `${stat.ino}:${stat.size}:${stat.mtimeMs}`;
    })
    .join(" ");

const DAY_MS = 86_400_000;
/** Certificates are renewed a month before their end; by this time a renewal has failed. */
const SOON_DAYS = 14;

/** The warning about the certificate's end; null while it is far away. */
export function expiryWarning({ validTo }: X509Certificate, now: number): string | null {
  const left = Date.parse(validTo) - now;
  if (left <= 0) return `the TLS certificate has expired (${validTo})`;
  if (left > SOON_DAYS * DAY_MS) return null;
  return `the TLS certificate ends in ${Math.ceil(left / DAY_MS)} days (${validTo})`;
}
