import { errorMessage } from "#shared/kit/errors.ts";

const TROUBLES: readonly (readonly [RegExp, string])[] = [
  [/ALTNAME_INVALID|does not match certificate/i, "its certificate does not name this address"],
  [/CERT_HAS_EXPIRED|certificate has expired/i, "its certificate has expired"],
  [
    /UNABLE_TO_(VERIFY|GET_ISSUER)|SELF_SIGNED|unable to (verify|get)|self[- ]signed/i,
    "its certificate is not signed by an authority that this machine trusts: set SVC_TLS_CA (--tls-ca) to that authority's file",
  ],
];

/** What is wrong with the other side's certificate, from a connection's error; null when nothing is. */
export function tlsTrouble(err: unknown): string | null {
  const code = err instanceof Error && "code" in err ? String(err.code) : "";
  const words = `${code} ${errorMessage(err)}`;
  return TROUBLES.find(([sign]) => sign.test(words))?.[1] ?? null;
}
