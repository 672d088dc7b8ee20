import { errorMessage } from "#shared/kit/errors.ts";

const TROUBLES: readonly (readonly [RegExp, string])[] = [
  [
    /ALTNAME_INVALID|does not match certificate/i,
    "its certificate is for other names than this address",
  ],
  [/CERT_HAS_EXPIRED|certificate has expired/i, "its certificate has expired"],
  [
    /UNABLE_TO_(VERIFY|GET_ISSUER)|SELF_SIGNED|unable to (verify|get)|self[- ]signed/i,
    "no authority that is trusted here has signed its certificate: SVC_TLS_CA (--tls-ca) names the file of one",
  ],
];

/** What is wrong with the other side's certificate, from the words of a connection that failed; null when nothing is. */
export function tlsTrouble(err: unknown): string | null {
  const code = err instanceof Error && "code" in err ? String(err.code) : "";
  const words = `${code} ${errorMessage(err)}`;
  return TROUBLES.find(([sign]) => sign.test(words))?.[1] ?? null;
}
