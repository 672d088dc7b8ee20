import { sameSecret } from "#shared/kit/secret.ts";
import {
  HUB_RESTARTING_REASON,
  HUB_STOPPING_REASON,
  LINK_CLOSE,
} from "#shared/protocol/link/close.ts";
import type { Registration } from "#shared/protocol/link/messages.ts";
import type { FleetContext } from "../context.ts";
import { keptLink, rememberLink, tokenHash } from "./kept.ts";
import type { LeftLink } from "./left-link.ts";
import type { KeptLink } from "./parts.ts";
import type { WorkerLink } from "./worker-link.ts";

/** What can be taken up of the link that this worker had; null when it is another worker's, or unknown. */
export async function leftLink(
  ctx: Pick<FleetContext, "config" | "kept">,
  hello: Registration,
): Promise<LeftLink | null> {
  const { worker_id, instance_id, resume } = hello;
  if (!resume?.holds || ctx.config.link_grace_ms === 0) return null;
  const { upload_token, received: sent, acknowledged, holds } = resume;
  const kept = await keptLink(ctx, worker_id);
  if (kept?.instance_id !== instance_id) return null;
  if (!sameSecret(kept.token_sha256, tokenHash(upload_token))) return null;
  const exact = kept.received !== null;
  return { upload_token, sent, received: kept.received ?? acknowledged ?? 0, exact, holds };
}

/** Lets the next hub take the link up. Keeps nothing for a worker whose version cannot go on with a link. */
export async function keepLinkForNext(
  ctx: Pick<FleetContext, "config" | "kept">,
  link: WorkerLink,
  received: KeptLink["received"],
): Promise<void> {
  if (link.outbox === null || ctx.config.link_grace_ms === 0) return;
  const { worker_id, instance_id, upload_token } = link;
  await rememberLink(ctx, {
    worker_id,
    instance_id,
    token_sha256: tokenHash(upload_token),
    received,
  });
}

/** Whether this link's worker may bring it to the next hub, or to another one, which takes it up. */
export const canBeLeft = ({ config }: Pick<FleetContext, "config">, link: WorkerLink): boolean =>
  config.link_grace_ms > 0 && link.ready && !link.closed && link.outbox !== null;

/** What a stopping hub says to a socket of a worker, registered or not. */
export const linkFarewell = ({ config }: Pick<FleetContext, "config">) =>
  config.link_grace_ms > 0
    ? { code: LINK_CLOSE.restarting, reason: HUB_RESTARTING_REASON }
    : { code: LINK_CLOSE.going_away, reason: HUB_STOPPING_REASON };
