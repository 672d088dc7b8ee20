import { isoTime } from "#shared/kit/clock.ts";
import { MAX_NAMED } from "#shared/protocol/schema/failure.ts";
import { type Failure, UNKNOWN } from "../failures/fingerprint.ts";
import { namedCursor, readNamedCursor } from "./time-cursor.ts";

/** Failures that are alike, as they are counted: `newest` is the id of the newest of them. */
export interface Group<Id> {
  fingerprint: string;
  count: number;
  trend: number[];
  first: number;
  last: number;
  newest: Id;
  /** Where it happened: workloads or hosts, and workers. */
  of: Set<string | number>;
  workers: Set<string>;
}

export interface Counted<Id> {
  fingerprint: string | null;
  bucket: number;
  n: number;
  first: number;
  last: number;
  newest: Id;
  of: string | number;
  worker: string | null;
}

const named = <T>(names: Set<T>, name: T): void => {
  if (names.size < MAX_NAMED) names.add(name);
};

/** Adds what was counted in one piece to the groups. Pieces come newest first. */
export function addTo<Id>(
  groups: Map<string, Group<Id>>,
  { fingerprint, bucket, n, first, last, newest, of, worker }: Counted<Id>,
  buckets: number,
): void {
  const name = fingerprint ?? UNKNOWN;
  let group = groups.get(name);
  if (!group) {
    const trend = new Array<number>(buckets).fill(0);
    const [places, workers] = [new Set<string | number>(), new Set<string>()];
    group = { fingerprint: name, count: 0, trend, first, last, newest, of: places, workers };
    groups.set(name, group);
  }
  group.count += n;
  const at = Math.min(buckets - 1, Math.max(0, bucket));
  group.trend[at] = (group.trend[at] ?? 0) + n;
  group.first = Math.min(group.first, first);
  if (last > group.last) {
    group.last = last;
    group.newest = newest;
  }
  named(group.of, of);
  if (worker !== null) named(group.workers, worker);
}

interface Page {
  sort: "last_seen" | "count";
  limit: number;
  cursor?: string | undefined;
}

/** One page of them; whatever grew since the page before is not shown twice. @throws AppError invalid */
export function pageOfGroups<Id>(
  groups: Map<string, Group<Id>>,
  { sort, limit, cursor }: Page,
): { page: Group<Id>[]; next_cursor: string | null } {
  const rank = (group: Group<Id>) => (sort === "count" ? group.count : group.last);
  const place = cursor === undefined ? null : readNamedCursor(cursor);
  const left = [...groups.values()]
    .sort((a, b) => rank(b) - rank(a) || (a.fingerprint < b.fingerprint ? -1 : 1))
    .filter(
      (group) =>
        place === null ||
        rank(group) < place.at ||
        (rank(group) === place.at && group.fingerprint > place.id),
    );
  const page = left.slice(0, limit);
  const last = page.at(-1);
  const more = left.length > limit && last !== undefined;
  return { page, next_cursor: more ? namedCursor({ at: rank(last), id: last.fingerprint }) : null };
}

const DAY_MS = 86_400_000;

/** The time that is counted, in equal parts. */
export function windowOf(
  {
    since,
    until,
    buckets,
  }: { since?: string | undefined; until?: string | undefined; buckets: number },
  now: number,
): { since: number; until: number; bucket_ms: number } {
  // One millisecond on, so that what ends now is counted.
  const end = until === undefined ? now + 1 : Date.parse(until);
  const begin = since === undefined ? end - DAY_MS : Math.min(Date.parse(since), end);
  return { since: begin, until: end, bucket_ms: Math.max(1, Math.ceil((end - begin) / buckets)) };
}

/** An answer counts as many pieces as fit into this time. */
export const COUNT_MS = 600;
const MAX_TRACEBACK = 16_384;

/** What is shown of an example: its traceback, or else its error, at most the end of it. */
export const tracebackOf = (traceback: string | null, error: string | null): string =>
  (traceback ?? error ?? "").slice(-MAX_TRACEBACK);

/** What the records of all groups have. `first_seen`: of all that are kept, by fingerprint. */
export function groupRecord<Id>(
  group: Group<Id>,
  { kind, message }: Pick<Failure, "kind" | "message">,
  first_seen: ReadonlyMap<string, number>,
) {
  const { fingerprint, count, trend, first, last, workers } = group;
  const is_unknown = fingerprint === UNKNOWN;
  return {
    fingerprint,
    kind: is_unknown ? UNKNOWN : kind,
    message: is_unknown ? "recorded before failures had fingerprints" : message,
    count,
    trend,
    first_seen: isoTime(Math.min(first, first_seen.get(fingerprint) ?? first)),
    last_seen: isoTime(last),
    workers: [...workers].sort(),
  };
}

/** What the list says of the time that was counted, newest first down to `counted_since`. */
export const windowRecord = (
  { since, until, bucket_ms }: ReturnType<typeof windowOf>,
  counted_since: number,
) => ({
  since: isoTime(since),
  until: isoTime(until),
  bucket_s: bucket_ms / 1_000,
  complete: counted_since === since,
  counted_since: isoTime(counted_since),
});
