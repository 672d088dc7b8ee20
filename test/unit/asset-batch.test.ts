import { expect, test } from "bun:test";
import { AppError } from "#shared/kit/errors.ts";
import {
  batchHead,
  MAX_BATCH_BODIES,
  MAX_BATCH_HEAD_BYTES,
  parseBatch,
} from "#shared/protocol/asset-batch.ts";
import { assetMeta } from "#test/support/clients/asset-meta.ts";

const SHA = "0".repeat(64);
const entry = (name: string, body: string) =>
  Buffer.concat([batchHead(assetMeta(name), body.length, SHA), Buffer.from(body)]);
const withHead = (head: string) => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(head.length);
  return Buffer.concat([length, Buffer.from(head)]);
};
const refusal = (bytes: Uint8Array) => {
  try {
    parseBatch(bytes);
  } catch (err) {
    if (err instanceof AppError && err.kind === "invalid") return err.detail;
    throw err;
  }
  throw new Error("the batch was taken");
};

test("a batch gives back its entries in order, empty bodies and none at all included", () => {
  const batch = Buffer.concat([entry("ä b.png", "one"), entry("empty", ""), entry("c", "three")]);
  expect(parseBatch(batch).map((e) => [e.meta, e.size, Buffer.from(e.body).toString()])).toEqual([
    [assetMeta("ä b.png"), 3, "one"],
    [assetMeta("empty"), 0, ""],
    [assetMeta("c"), 5, "three"],
  ]);
  expect(parseBatch(new Uint8Array())).toEqual([]);
});

test("a batch that ends anywhere but between two entries is refused", () => {
  const one = entry("a", "body");
  const batch = Buffer.concat([one, entry("b", "body")]);
  for (let length = 1; length < batch.length; length += 1)
    if (length !== one.length)
      expect(refusal(batch.subarray(0, length))).toMatchObject([
        { loc: ["body", length < one.length ? 0 : 1] },
      ]);
});

test("the entry that breaks a rule is named", () => {
  const good = entry("a", "x");
  const head = (more: object) =>
    withHead(JSON.stringify({ ...assetMeta("b"), size: 0, sha256: SHA, ...more }));
  const cases: [Uint8Array, (string | number)[], string][] = [
    [withHead("{"), ["body", 1], "its head is not JSON"],
    [Buffer.from([0, 0, 0, 1, 0xff]), ["body", 1], "its head is not JSON"],
    [withHead(" ".repeat(MAX_BATCH_HEAD_BYTES + 1)), ["body", 1], "its head is longer than"],
    [head({ name: "../x" }), ["body", 1, "name"], "is not a safe file name"],
    [head({ sha256: "nope" }), ["body", 1, "sha256"], "must be a SHA-256"],
    [head({ size: -1 }), ["body", 1, "size"], "Too small"],
    [head({ kind: 7 }), ["body", 1, "kind"], "Invalid option"],
    [head({ name: "a" }), ["body", 1, "name"], "is there twice"],
  ];
  for (const [bytes, loc, msg] of cases) {
    const said = refusal(Buffer.concat([good, bytes]));
    expect(said).toMatchObject([{ loc }]);
    expect(JSON.stringify(said)).toContain(msg);
  }
});

test("more bodies than a batch may have are refused", () => {
  const many = Array.from({ length: MAX_BATCH_BODIES + 1 }, (_, i) => entry(`n${i}`, "x"));
  expect(parseBatch(Buffer.concat(many.slice(1))).length).toBe(MAX_BATCH_BODIES);
  expect(refusal(Buffer.concat(many))).toMatchObject([{ loc: ["body", MAX_BATCH_BODIES] }]);
});
