import type { AssetRow } from "#hub/platform/db/rows.ts";
import { stableUrl } from "#shared/archive/volatile-query.ts";
import { COMPARISON_LIMITS } from "#shared/protocol/limits.ts";
import type {
  AssetChange,
  AssetsCompared,
  ComparedAsset,
} from "#shared/protocol/schema/comparison.ts";
import { assetHref } from "../jobs/record.ts";

interface Pair {
  before: AssetRow;
  after: AssetRow;
  match: AssetChange["match"];
}

interface Matching {
  pairs: Pair[];
  /** What has found no partner yet. */
  before: AssetRow[];
  after: AssetRow[];
}

/** Takes the pairs whose keys are equal out of what is left, in the order of arrival. */
function pairOff(
  left: Matching,
  match: AssetChange["match"],
  keyOf: (row: AssetRow) => string,
): Matching {
  const partners = Map.groupBy(left.after, keyOf);
  // Popped from the end, so the first that arrived is the first to go.
  for (const rows of partners.values()) rows.reverse();
  const pairs = [...left.pairs];
  const taken = new Set<AssetRow>();
  const before = left.before.filter((row) => {
    const after = partners.get(keyOf(row))?.pop();
    if (after === undefined) return true;
    taken.add(after);
    pairs.push({ before: row, after, match });
    return false;
  });
  return { pairs, before, after: left.after.filter((row) => !taken.has(row)) };
}

/** One URL may have several bodies, so equal bodies find each other first (rules/comparison#matching). */
function match(before: AssetRow[], after: AssetRow[]): Matching {
  const stable = new Map([...before, ...after].map((row) => [row, stableUrl(row.source_url)]));
  const exactly = ({ source_url }: AssetRow) => source_url;
  const roughly = (row: AssetRow) => stable.get(row) ?? row.source_url;
  let left: Matching = { pairs: [], before, after };
  for (const [kind, urlOf] of [
    ["exact", exactly],
    ["fuzzy", roughly],
  ] as const) {
    left = pairOff(left, kind, (row) => `${row.sha256} ${urlOf(row)}`);
    left = pairOff(left, kind, urlOf);
  }
  return left;
}

/** A URL may have 70,000 characters. */
const shortUrl = (url: string): string =>
  url.length > COMPARISON_LIMITS.url_chars ? `${url.slice(0, COMPARISON_LIMITS.url_chars)}…` : url;

const compared = (row: AssetRow): ComparedAsset => ({
  name: row.name,
  href: assetHref(row.job_id, row.name),
  url: shortUrl(row.source_url),
  kind: row.kind,
  mime: row.mime,
  status: row.status,
  size: row.size,
  sha256: row.sha256,
  partial: row.partial,
});

/** What differs between the two; empty when nothing does. */
function differences({ before, after }: Pair): AssetChange["differs"] {
  const differs: AssetChange["differs"] = [];
  if (before.sha256 !== after.sha256) differs.push("body");
  if (before.size !== after.size) differs.push("size");
  if (before.mime !== after.mime) differs.push("mime");
  if (before.status !== after.status) differs.push("status");
  return differs;
}

/** A screenshot is the hub's own file and has the URL of the page. */
const isCaptured = ({ name, status }: AssetRow): boolean =>
  status !== null || !/^screenshot-[0-9]{8}T/.test(name);

/** Compares what two jobs captured; each list is cut at its limit, the counts are of all. */
export function compareAssets(before: AssetRow[], after: AssetRow[]): AssetsCompared {
  const { assets: most, list } = COMPARISON_LIMITS;
  const left = match(
    before.slice(0, most).filter(isCaptured),
    after.slice(0, most).filter(isCaptured),
  );
  const changed = left.pairs
    .toSorted((a, b) => a.after.position - b.after.position)
    .map((pair) => ({ ...pair, differs: differences(pair) }))
    .filter(({ differs }) => differs.length > 0);
  return {
    counts: {
      new: left.after.length,
      gone: left.before.length,
      changed: changed.length,
      unchanged: left.pairs.length - changed.length,
    },
    new: left.after.slice(0, list).map(compared),
    gone: left.before.slice(0, list).map(compared),
    changed: changed.slice(0, list).map((pair) => ({
      match: pair.match,
      differs: pair.differs,
      before: compared(pair.before),
      after: compared(pair.after),
    })),
    lists_cut: Math.max(left.after.length, left.before.length, changed.length) > list,
    assets_cut: Math.max(before.length, after.length) > most,
  };
}
