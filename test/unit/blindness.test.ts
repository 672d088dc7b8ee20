import { expect, test } from "bun:test";
import { watchBlindness } from "#worker/browser/record/blindness.ts";
import type { RequestEntry } from "#worker/browser/record/requests.ts";

/** A page that was answered and of which nothing was seen is told of with what is known, never silently complete. */

const entry = (more: Partial<RequestEntry> = {}): RequestEntry =>
  ({
    method: "GET",
    type: "Document",
    received: 0,
    encoded: 0,
    headers: new Map(),
    response: { status: 200, encodedDataLength: 100 },
    wire_status: 200,
    ...more,
  }) as RequestEntry;
const page = { type: "page", is_seen: true, unseen: null, plain: null, page: { url: "http://a/" } };
const known = {
  targets: [page],
  activity: { begun: 3 },
  trace: { entries: [1, 2] },
  downloads: { count: 0 },
} as never;

test("an answer whose end was never told is one of which nothing was seen", () => {
  const blindness = watchBlindness();
  blindness.answered(entry());
  expect(blindness.tell(known)).toEqual({
    documents: 1,
    empty_documents: 0,
    requests: 3,
    traced: 2,
    downloads: 0,
    targets: [{ type: "page", url: "http://a/", is_seen: true, has_plain: false, error: null }],
  });
});

test("a document that ended empty, and an answer without a body, are as they should be", () => {
  const blindness = watchBlindness();
  const empty = entry({ encoded: 100 });
  blindness.answered(empty);
  blindness.ended(empty);
  blindness.answered(entry({ response: { status: 204 } as never, wire_status: 204 }));
  expect(blindness.tell(known)).toBeNull();
});

test("one that ended with bytes of which no body was kept is told of", () => {
  const blindness = watchBlindness();
  const told = entry({ received: 10, encoded: 110 });
  blindness.answered(told);
  blindness.ended(told);
  expect(blindness.tell(known)).not.toBeNull();
});
