import { ArchiveError } from "#shared/archive/archive-error.ts";
import type { HarEntry } from "#shared/protocol/schema/har.ts";
import type { RecordFacts } from "../archive/har-of-warc.ts";
import type { ImportedAsset } from "./bodies.ts";
import { IMPORT_LIMITS } from "./limits.ts";

/** An entry with the body that it has. */
export interface Filled {
  entry: HarEntry;
  asset: ImportedAsset | null;
}

/** A body that another record of the archive has. */
interface Elsewhere {
  filled: Filled;
  digest: string;
  url: string;
}

/** The entries of the HAR: answers find their requests, and repetitions the bodies that they repeat. */
export interface Entries {
  answer(facts: RecordFacts, digest: string, filled: Filled): void;
  /** @param of the URL of the record that has the body; empty where the archive names none */
  repetition(facts: RecordFacts, digest: string, of: string, entry: HarEntry): void;
  request(facts: RecordFacts, request: HarEntry["request"]): void;
  /** An entry that no record of an answer stands for. */
  add(filled: Filled): void;
  /** Counts what is kept in memory of the archive until its end. @throws ArchiveError when it is too much */
  weigh(bytes: number): void;
  /** The entry of the record with this id. */
  of(record_id: string): Filled | undefined;
  /**
   * All of them, in the order of the archive; those that found no body have none. `repeated` are those whose body is that of
   * another record.
   */
  done(): { filled: Filled[]; repeated: Filled[]; dropped: number };
}

const weightOf = (what: unknown): number => JSON.stringify(what).length;

export function createEntries(): Entries {
  const all: Filled[] = [];
  const by_record = new Map<string, Filled>();
  const by_digest = new Map<string, ImportedAsset>();
  const by_url = new Map<string, ImportedAsset>();
  const elsewhere: Elsewhere[] = [];
  /** Requests that came before their answers, by their own ids and by those that they name. */
  const early = new Map<string, HarEntry["request"]>();
  let dropped = 0;
  let weight = 0;

  const weigh = (bytes: number) => {
    weight += bytes;
    if (weight > IMPORT_LIMITS.heads_bytes)
      throw new ArchiveError("the headers of the archive are too long", { too_large: true });
  };
  const add = (filled: Filled): boolean => {
    weigh(weightOf(filled.entry));
    if (all.length < IMPORT_LIMITS.entries) return all.push(filled) > 0;
    dropped += 1;
    return false;
  };
  const answered = ({ id, concurrent }: RecordFacts, filled: Filled) => {
    const request = early.get(concurrent) ?? early.get(id);
    if (request) filled.entry.request = request;
    if (add(filled) && id !== "") by_record.set(id, filled);
  };
  const found = ({ digest, url }: Pick<Elsewhere, "digest" | "url">) =>
    (digest === "" ? undefined : by_digest.get(digest)) ?? by_url.get(url);

  return {
    answer: (facts, digest, filled) => {
      answered(facts, filled);
      if (!filled.asset) return;
      if (digest !== "" && !by_digest.has(digest)) by_digest.set(digest, filled.asset);
      if (!by_url.has(facts.url)) by_url.set(facts.url, filled.asset);
    },
    repetition: (facts, digest, of, entry) => {
      const filled: Filled = { entry, asset: null };
      weigh(digest.length + of.length);
      answered(facts, filled);
      elsewhere.push({ filled, digest, url: of === "" ? facts.url : of });
    },
    request: ({ id, concurrent }, request) => {
      const answer = by_record.get(concurrent);
      if (answer) {
        weigh(weightOf(request));
        answer.entry.request = request;
        return;
      }
      if (early.size >= 2 * IMPORT_LIMITS.entries) return;
      weigh(weightOf(request));
      if (id !== "") early.set(id, request);
      if (concurrent !== "") early.set(concurrent, request);
    },
    add: (filled) => void add(filled),
    weigh,
    of: (record_id) => by_record.get(record_id),
    done: () => {
      for (const { filled, ...place } of elsewhere) filled.asset = found(place) ?? null;
      return { filled: all, repeated: elsewhere.map(({ filled }) => filled), dropped };
    },
  };
}
