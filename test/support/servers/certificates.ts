import { copyFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runProgram } from "../rigs/program.ts";

/** An authority of a test's own, and certificates that it signs: all files below `dir`, by openssl. */
export interface TestAuthority {
  /** Path of its certificate. */
  ca: string;
  /** Signs a certificate for localhost and 127.0.0.1 whose subject is `name`. */
  sign(name: string, options?: { days?: number; names?: string }): Promise<PemFiles>;
}

export interface PemFiles {
  cert: string;
  key: string;
}

async function openssl(...args: string[]): Promise<void> {
  const { code, stderr } = await runProgram(["openssl", ...args]);
  if (code !== 0) throw new Error(`openssl ${args.join(" ")}: ${stderr}`);
}

const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

export async function newAuthority(dir: string, { days = 2 } = {}): Promise<TestAuthority> {
  const [ca, ca_key] = [join(dir, "ca.crt"), join(dir, "ca.key")];
  const subject = ["-subj", "/CN=authority of a test"];
  await openssl(
    "req",
    "-x509",
    ...NEW_KEY,
    "-keyout",
    ca_key,
    "-out",
    ca,
    "-days",
    String(days),
    ...subject,
  );
  return {
    ca,
    sign: async (name, { days = 2, names = "DNS:localhost,IP:127.0.0.1" } = {}) => {
      const file = (end: string) => join(dir, `${name}.${end}`);
      const [cert, key, request, extension] = [file("crt"), file("key"), file("csr"), file("ext")];
      writeFileSync(extension, `subjectAltName=${names}\n`);
      await openssl("req", ...NEW_KEY, "-keyout", key, "-out", request, "-subj", `/CN=${name}`);
      const signer = ["-CA", ca, "-CAkey", ca_key, "-CAcreateserial"];
      const made = ["-in", request, "-out", cert, "-extfile", extension, "-days", String(days)];
      await openssl("x509", "-req", ...signer, ...made);
      return { cert, key };
    },
  };
}

/** Puts other files into the places of `at`, as a renewal does: each in one step, the key first. */
export function replacePem(at: PemFiles, by: PemFiles): void {
  for (const which of ["key", "cert"] as const) {
    copyFileSync(by[which], `${at[which]}.new`);
    renameSync(`${at[which]}.new`, at[which]);
  }
}

/** The subject of the certificate that a new connection is shown, `CN=…`. */
export async function shownSubject(url: string): Promise<string> {
  const { host } = new URL(url);
  const script = `echo | openssl s_client -connect ${host} 2>/dev/null | openssl x509 -noout -subject`;
  const { stdout } = await runProgram(["sh", "-c", script]);
  return stdout
    .trim()
    .replace(/^subject= ?/, "")
    .replaceAll(" ", "");
}
