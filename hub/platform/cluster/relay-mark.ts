import { createHmac } from "node:crypto";
import { AppError } from "#shared/kit/errors.ts";
import { sameSecret } from "#shared/kit/secret.ts";
import type { ClusterContext } from "../context.ts";

/** On a call that one hub passes on to another: which hub that is, and the proof that it knows the shared secret. */
export const RELAY_HEADER = "flotilla-relay";
export const RELAY_PROOF_HEADER = "flotilla-relay-proof";

type MarkContext = Pick<ClusterContext, "config" | "hub_id">;

/**
 * The secret itself is never sent, because an address of the registry may belong to a stranger by now. Empty without a
 * secret.
 */
const proofOf = ({ config: { worker_secret } }: MarkContext, hub_id: string): string =>
  worker_secret === null
    ? ""
    : createHmac("sha256", worker_secret).update(`relay ${hub_id}`).digest("hex");

/** Headers of a call that this hub passes on. */
export const relayMark = (ctx: MarkContext): Record<string, string> => ({
  [RELAY_HEADER]: ctx.hub_id,
  [RELAY_PROOF_HEADER]: proofOf(ctx, ctx.hub_id),
});

/**
 * The hub that passed the call on; null when none did.
 * @throws AppError forbidden for a mark whose proof is not the secret's.
 */
export function passedOnBy(ctx: MarkContext, headers: Headers): string | null {
  const from = headers.get(RELAY_HEADER);
  if (from === null && !headers.has(RELAY_PROOF_HEADER)) return null;
  if (from === null || !sameSecret(headers.get(RELAY_PROOF_HEADER) ?? "", proofOf(ctx, from)))
    throw new AppError("forbidden", "bad relay mark");
  return from;
}
