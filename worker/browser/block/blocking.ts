import type { Block, BlockedReport, BlockReason } from "#shared/protocol/schema/block.ts";
import type { CdpConnection, Protocol } from "../cdp/connection.ts";
import type { Pause } from "../record/pauses.ts";
import { createBlockRules } from "./block-rules.ts";
import type { TypicalSizes } from "./typical-sizes.ts";

type Paused = Protocol.Fetch.RequestPausedEvent;

/** What the pages of one session are kept from requesting, in one browser after the other. */
export interface Blocking {
  /** Its share of the requests that this browser holds; it comes before every other. */
  pause(connection: CdpConnection): Pause;
  report(): BlockedReport;
}

/**
 * A document whose request began before its window was attached to has no network id, and every window of its own is
 * attached to: what is left is in a frame.
 */
const isInFrame = (connection: CdpConnection, { networkId, frameId }: Paused): boolean =>
  networkId !== undefined &&
  ![...connection.sessions.values()].some(
    ({ target }) => target?.type === "page" && target.targetId === frameId,
  );

export function createBlocking(
  block: Block,
  ad_hosts: readonly string[],
  sizes: Pick<TypicalSizes, "of">,
): Blocking {
  const reasonFor = createBlockRules(block, ad_hosts);
  const by: Partial<Record<BlockReason, number>> = {};
  const of_type = new Map<string, number>();
  /** The document that a window opened last, for requests that do not say where they come from. */
  let last_page = "";

  const takes = (connection: CdpConnection, paused: Paused): boolean => {
    const { requestId, request, resourceType } = paused;
    const { url, headers } = request;
    // What is opened on purpose is opened.
    if (resourceType === "Document" && !isInFrame(connection, paused)) {
      last_page = url;
      return false;
    }
    const page_url = headers.Referer ?? last_page;
    const reason = reasonFor({ url, type: resourceType.toLowerCase(), page_url });
    if (reason === null) return false;
    of_type.set(resourceType, (of_type.get(resourceType) ?? 0) + 1);
    by[reason] = (by[reason] ?? 0) + 1;
    connection.root.post("Fetch.failRequest", { requestId, errorReason: "BlockedByClient" });
    return true;
  };
  return {
    pause: (connection) => ({
      type: "every",
      stage: "Request",
      takes: (paused) => takes(connection, paused),
    }),
    report: () => {
      const counts = [...of_type];
      return {
        requests: counts.reduce((sum, [, count]) => sum + count, 0),
        by: { ...by },
        bytes_saved: Math.round(
          counts.reduce((sum, [type, count]) => sum + count * sizes.of(type), 0),
        ),
      };
    },
  };
}
