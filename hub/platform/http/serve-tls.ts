import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { type Loop, startLoop } from "#shared/kit/loop.ts";
import type { HttpServer } from "./listen.ts";
import { expiryWarning, type LoadedTls, loadTls, stampOf, type TlsFiles } from "./tls-files.ts";

/** How soon a renewed certificate is served. */
const LOOK_EVERY_MS = 5_000;
const WARN_EVERY_MS = 86_400_000;

export interface CertificateWatch extends Loop {
  /**
   * Checks now. True when a certificate was taken.
   * @throws ConfigError when the files cannot be used; the served certificate stays.
   */
  look(): boolean;
}

interface WatchDeps {
  files: TlsFiles;
  /** What the server was started with. */
  loaded: LoadedTls;
  server: Pick<HttpServer, "setTls">;
  clock: Clock;
  log: Log;
}

/**
 * Follows the files of a certificate: when they change, new connections get the new one and open ones go on. Files that
 * do not belong together, as between two writes, are checked again; the served certificate stays until they do.
 */
export function watchCertificate(deps: WatchDeps): CertificateWatch {
  const { files, server, clock, log } = deps;
  let current = deps.loaded;
  let warned_at = Number.NEGATIVE_INFINITY;
  /** Files that were refused, so that each is reported only once. */
  let refused = "";

  const warnOfEnd = () => {
    const warning = expiryWarning(current.certificate, clock.now());
    if (warning === null || clock.monotonic() - warned_at < WARN_EVERY_MS) return;
    warned_at = clock.monotonic();
    log.warn({ cert: files.cert, subject: current.certificate.subject }, warning);
  };
  const look = () => {
    if (stampOf(files) === current.stamp) return false;
    const loaded = loadTls(files);
    const same = loaded.cert === current.cert && loaded.key === current.key;
    if (!same) server.setTls(loaded);
    current = loaded;
    if (same) return false;
    warned_at = Number.NEGATIVE_INFINITY;
    const { subject, validTo } = loaded.certificate;
    log.info({ cert: files.cert, subject, valid_to: validTo }, "TLS certificate replaced");
    return true;
  };
  const pass = async () => {
    try {
      look();
    } catch (err) {
      const seen = stampOf(files);
      if (seen !== refused)
        log.error(
          { err: errorMessage(err) },
          "could not load the TLS certificate; the previous one stays in use",
        );
      refused = seen;
    }
    warnOfEnd();
  };
  const loop = startLoop({ name: "certificate", everyMs: LOOK_EVERY_MS, clock, log, pass });
  return { ...loop, look };
}
