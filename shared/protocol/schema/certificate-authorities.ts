import { X509Certificate } from "node:crypto";
import { z } from "@hono/zod-openapi";

/** Certificates of authorities as text (PEM), which a browser trusts besides Chromium's own. */

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const MAX_AUTHORITIES = 20;
const MAX_CHARACTERS = 64 * 1024;

/** Each certificate in a text that may have others between them, such as comments. */
export const certificatesIn = (pem: string): string[] => pem.match(CERTIFICATE) ?? [];

/** Chromium takes the certificate of a site for no authority, and NSS refuses what cannot be read. */
function isAuthority(certificate: string): boolean {
  try {
    return new X509Certificate(certificate).ca;
  } catch {
    return false;
  }
}

export const CertificateAuthorities = z
  .string()
  .max(MAX_CHARACTERS)
  .refine(
    (pem) => {
      const { length } = certificatesIn(pem);
      return length > 0 && length <= MAX_AUTHORITIES;
    },
    { error: `must be 1 to ${MAX_AUTHORITIES} certificates in PEM` },
  )
  .refine((pem) => certificatesIn(pem).every(isAuthority), {
    error: "must have certificates of authorities only (CA:TRUE)",
  });
