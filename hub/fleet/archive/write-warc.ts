import type { Indexed, Place } from "./cdxj.ts";
import type { Planned } from "./har-records.ts";
import { writeRecord } from "./warc-record.ts";

/** Called for each record that replay may look up, once it is written. */
export type OnWritten = (indexed: Indexed, place: Omit<Place, "filename">) => void;

/** A WARC file of `records`, each a gzip member, made while it is read. */
export async function* writeWarc(
  records: AsyncIterable<Planned>,
  onWritten: OnWritten = () => {},
): AsyncGenerator<Uint8Array> {
  let offset = 0;
  for await (const { record, indexed } of records) {
    const start = offset;
    for await (const chunk of writeRecord(record)) {
      offset += chunk.length;
      yield chunk;
    }
    if (indexed) onWritten(indexed, { offset: start, length: offset - start });
  }
}
