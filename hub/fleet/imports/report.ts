import type { CaptureReport } from "#shared/protocol/schema/job.ts";
import { bodyOfEntry } from "../archive/entry-body.ts";
import type { Gathered } from "./gather.ts";
import type { ArchiveSources } from "./sources.ts";

/** Bodies that were sent and that the archive has in part or not at all. */
const REASON = "not_in_archive";

/** What became of the bodies, as far as the archive tells (rules/documents#import-of-a-web-archive). */
export function reportOf(
  { entries, records, software, left_out, undecodable, unknown_coding }: Gathered,
  { format }: ArchiveSources,
  page: "sent" | "saved" | "none",
): CaptureReport {
  const counts = { captured: 0, partial: 0, lost: 0 };
  for (const { entry, asset } of entries.filled) {
    const body = bodyOfEntry(entry, asset ? { ...asset, read: never } : undefined);
    if (body.how === "joined" || (body.how === "whole" && !body.cut)) counts.captured += 1;
    else if (body.how === "whole" || body.how === "pieces") counts.partial += 1;
    else if (body.how === "missing") counts.lost += 1;
  }
  const { captured, partial, lost } = counts;
  const seen = captured + partial + lost;
  const warnings = [
    ...(page === "sent"
      ? ["the archive has no page as it was at the end: page.html is the document as it was sent"]
      : []),
    ...(undecodable > 0 ? [`${undecodable} bodies could not be decoded, and are not kept`] : []),
    ...(unknown_coding > 0
      ? [
          `${unknown_coding} bodies are coded in a way that is not read here, and are kept as they are`,
        ]
      : []),
    ...(entries.dropped > 0
      ? [
          `har.json has the first ${entries.filled.length} requests; ${entries.dropped} are left out`,
        ]
      : []),
  ];
  return {
    seen,
    ...counts,
    skipped: 0,
    ratio: seen === 0 ? 1 : captured / seen,
    reasons: partial + lost > 0 ? { [REASON]: partial + lost } : {},
    method: "durable",
    page: page === "none" ? null : "page.html",
    warnings,
    imported: { format, software, records, left_out },
  };
}

const never = (): never => {
  throw new Error("a report reads no body");
};
