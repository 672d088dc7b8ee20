import { chmod, cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError } from "#shared/kit/env.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { LANE_PACKAGES } from "#shared/kit/lane-packages.ts";

/** Where Chromium on Linux looks for authorities of its user's own, below HOME. */
const NSS = ".pki/nssdb";
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
/** It takes a tenth of a second. */
const CERTUTIL_MS = 30_000;

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
  const certificates = text.match(CERTIFICATE) ?? [];
  if (certificates.length === 0) throw wrong(`${file} has no certificate in PEM`);
  const program = Bun.which("certutil", { PATH: program_path });
  if (program === null)
    throw wrong(`certutil is needed, install ${LANE_PACKAGES.authorities.join(" ")}`);
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const unmade = await certutil(program, dir, ["-N", "--empty-password"]);
  if (unmade !== null) throw wrong(unmade);
  for (const [n, certificate] of certificates.entries()) {
    const path = join(dir, "certificate.pem");
    await writeFile(path, certificate, { mode: 0o600 });
    const failed = await certutil(program, dir, [
      "-A",
      ...["-a", "-t", "C,,", "-n", `authority ${n + 1}`, "-i", path],
    ]);
    await rm(path);
    if (failed !== null) throw wrong(`certificate ${n + 1} of ${file}: ${failed}`);
  }
  return {
    giveTo: async (home) => {
      const to = join(home, NSS);
      await mkdir(to, { recursive: true, mode: 0o700 });
      await cp(dir, to, { recursive: true });
      await chmod(to, 0o700);
    },
  };
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
