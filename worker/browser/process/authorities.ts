import { chmod, cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError } from "#shared/kit/env.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { LANE_PACKAGES } from "#shared/kit/lane-packages.ts";
import { certificatesIn } from "#shared/protocol/schema/certificate-authorities.ts";

/** Where Chromium on Linux looks for authorities of its user's own, below HOME. */
const NSS = ".pki/nssdb";
/** It takes a tenth of a second. */
const CERTUTIL_MS = 30_000;

export const findCertutil = (path = ""): string | null => Bun.which("certutil", { PATH: path });

/** The authorities that lanes trust besides Chromium's own, in its form. */
export interface Authorities {
  /** Gives them to a browser with this HOME, before it starts. */
  giveTo(home: string): Promise<void>;
}

/**
 * Reads the authorities of `file` (PEM, one or more) into a store at `dir`, which is made anew.
 * @throws ConfigError with what to do
 */
export async function openAuthorities(
  file: string,
  dir: string,
  program_path: string,
): Promise<Authorities> {
  const wrong = (why: string) => new ConfigError(`SVC_BROWSER_CA: ${why}`);
  const text = await readFile(file, "utf8").catch((err) => {
    throw wrong(errorMessage(err));
  });
  const certificates = certificatesIn(text);
  if (certificates.length === 0) throw wrong(`${file} has no certificate in PEM`);
  await rm(dir, { recursive: true, force: true });
  await addTo(dir, certificates, program_path).catch((err) => {
    throw wrong(errorMessage(err));
  });
  return {
    giveTo: async (home) => {
      const to = join(home, NSS);
      await mkdir(to, { recursive: true, mode: 0o700 });
      await cp(dir, to, { recursive: true });
      await chmod(to, 0o700);
    },
  };
}

/**
 * Gives a browser with this HOME the authorities of its job or session as well, before it starts.
 * @throws Error with what to do
 */
export const trustInHome = (home: string, pem: string, program_path: string): Promise<void> =>
  addTo(join(home, NSS), certificatesIn(pem), program_path).catch((err) => {
    throw new Error(`certificate_authorities: ${errorMessage(err)}`);
  });

/** Adds them to a store, which is made where there is none. */
async function addTo(dir: string, certificates: string[], program_path: string): Promise<void> {
  const program = findCertutil(program_path);
  if (program === null)
    throw new Error(`certutil is needed, install ${LANE_PACKAGES.authorities.join(" ")}`);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  if (!(await Bun.file(join(dir, "cert9.db")).exists())) {
    const unmade = await certutil(program, dir, ["-N", "--empty-password"]);
    if (unmade !== null) throw new Error(unmade);
  }
  for (const [n, certificate] of certificates.entries()) {
    const path = join(dir, "certificate.pem");
    await writeFile(path, certificate, { mode: 0o600 });
    // A name is for one authority; the same authority may come twice.
    const name = Bun.hash(certificate).toString(36);
    const failed = await certutil(program, dir, [
      "-A",
      ...["-a", "-t", "C,,", "-n", name, "-i", path],
    ]);
    await rm(path);
    if (failed !== null) throw new Error(`certificate ${n + 1}: ${failed}`);
  }
}

/** @returns its last words when it failed, or null */
async function certutil(program: string, dir: string, args: string[]): Promise<string | null> {
  const child = Bun.spawn([program, "-d", `sql:${dir}`, ...args], {
    env: { LC_ALL: "C" },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
    timeout: CERTUTIL_MS,
    killSignal: "SIGKILL",
  });
  const [code, words] = await Promise.all([child.exited, new Response(child.stderr).text()]);
  return code === 0 ? null : words.trim().slice(0, 500) || `certutil ended with ${code}`;
}
