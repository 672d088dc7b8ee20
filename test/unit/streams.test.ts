import { describe, expect, test } from "bun:test";
import type { BodySink } from "#worker/browser/cdp/body-decoder.ts";
import { CdpError, type CdpSession } from "#worker/browser/cdp/connection.ts";
import type { PartialFile, PartStore } from "#worker/browser/record/parts.ts";
import type { RequestEntry } from "#worker/browser/record/requests.ts";
import { createStreams } from "#worker/browser/record/streams.ts";

/** A session whose events the test tells, and whose answer it gives. */
function openSession() {
  const listeners = new Map<string, (params: unknown) => void>();
  const started = Promise.withResolvers<BodySink>();
  const answered = Promise.withResolvers<void>();
  const session = {
    on: (event: string, run: (params: unknown) => void) => listeners.set(event, run),
    closed: new Promise(() => {}),
    streamBody: (_id: string, sink: BodySink) => {
      started.resolve(sink);
      return answered.promise;
    },
  } as unknown as CdpSession;
  const tell = (event: string, params: object = {}) =>
    listeners.get(`Network.${event}`)?.({ requestId: "1", ...params });
  return {
    session,
    /** Bytes that pass by without their data. */
    pass: (length: number) => tell("dataReceived", { dataLength: length }),
    data: (text: string) => tell("dataReceived", { dataLength: text.length, data: btoa(text) }),
    finish: () => tell("loadingFinished"),
    fail: () => tell("loadingFailed"),
    answer: async (prefix: string) => {
      (await started.promise).write(Buffer.from(prefix));
      answered.resolve();
      await Bun.sleep(0);
    },
    refuse: async () => {
      answered.reject(new CdpError("Network.streamResourceContent", "no such id", -32_602, false));
      await Bun.sleep(0);
    },
  };
}

function openStreams(length: number) {
  const pieces: string[] = [];
  const file = {
    reason: "evicted",
    coverage: {
      total: length,
      add: (bytes: Uint8Array, at: number) => pieces.push(`${at}:${Buffer.from(bytes)}`),
    },
  } as unknown as PartialFile;
  const parts = { file: () => file } as unknown as PartStore;
  const moved: string[] = [];
  const progress = (id: string) => void moved.push(id);
  const streams = createStreams({ parts, source: () => ({}) as never, progress });
  const entry = {
    id: "1",
    headers: new Map([["content-length", String(length)]]),
    response: { status: 200 },
  } as unknown as RequestEntry;
  return { streams, entry, file, pieces, moved };
}

describe("a body that is followed as it streams by", () => {
  test("begins with what had come, and goes on with its pieces in order", async () => {
    const { streams, entry, file, pieces } = openStreams(6);
    const plain = openSession();
    streams.watch(plain.session);
    plain.pass(2);
    streams.follow(entry, [plain.session]);
    plain.data("cd");
    await plain.answer("ab");
    plain.data("ef");
    expect(pieces.filter((piece) => !piece.endsWith(":"))).toEqual(["0:ab", "2:cd", "4:ef"]);
    expect(file.reason).toBe("timeout");
  });

  test("has a gap, and nothing shifted, where the browser kept nothing of its start", async () => {
    const { streams, entry, pieces } = openStreams(6);
    const plain = openSession();
    streams.watch(plain.session);
    plain.pass(2);
    streams.follow(entry, [plain.session]);
    plain.pass(1);
    plain.data("d");
    await plain.answer("");
    expect(pieces.filter((piece) => !piece.endsWith(":"))).toEqual(["3:d"]);
  });

  test("is followed on the next session when the first one does not know it", async () => {
    const { streams, entry, pieces } = openStreams(4);
    const [plain, own] = [openSession(), openSession()];
    for (const { session } of [plain, own]) streams.watch(session);
    own.pass(2);
    streams.follow(entry, [plain.session, own.session]);
    await plain.refuse();
    await own.answer("");
    own.data("cd");
    expect(pieces.filter((piece) => !piece.endsWith(":"))).toEqual(["2:cd"]);
  });

  test("is no stalled request while its pieces come, whatever the page's own session tells", async () => {
    const { streams, entry, moved } = openStreams(4);
    const plain = openSession();
    streams.watch(plain.session);
    streams.follow(entry, [plain.session]);
    plain.data("cd");
    expect(moved).toEqual(["1"]);
    await plain.answer("ab");
    expect(moved.length).toBeGreaterThan(1);
  });

  test("that breaks off is aborted; one that no session can follow is too large", async () => {
    const broken = openStreams(4);
    const plain = openSession();
    broken.streams.watch(plain.session);
    broken.streams.follow(broken.entry, [plain.session]);
    await plain.answer("ab");
    plain.fail();
    expect(broken.file.reason).toBe("aborted");
    const unknown = openStreams(4);
    const other = openSession();
    unknown.streams.watch(other.session);
    unknown.streams.follow(unknown.entry, [other.session]);
    await other.refuse();
    expect(unknown.file.reason).toBe("too_large");
  });
});
