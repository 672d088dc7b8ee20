/** Replaced by `scripts/build.ts`; absent when run from source. */
declare const FLOTILLA_RELEASE: BuiltRelease | null | undefined;

/** What a build signed with a release key knows about itself (`scripts/release.ts`). */
export interface BuiltRelease {
  /** Public key that every later version must be signed with, in base64url. */
  key: string;
  /** ISO 8601 in UTC. */
  released_at: string;
  /** Signature of the sources in it, in base64url (`update-proof.ts`). */
  signature: string;
  /** Where releases are published: `flotilla upgrade` looks there. Null: its caller says so. */
  url: string | null;
}

/** Null: an unsigned build. */
export const builtRelease = (): BuiltRelease | null =>
  typeof FLOTILLA_RELEASE === "undefined" ? null : FLOTILLA_RELEASE;
