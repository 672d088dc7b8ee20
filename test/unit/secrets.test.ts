import { afterEach, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addKey, makeKeyFile, readKeyFile } from "#hub/platform/secrets/key-file.ts";
import { followKeyFile, type Keyring } from "#hub/platform/secrets/keyring.ts";
import { openStream, sealStream, streamKeyId } from "#hub/platform/secrets/streams.ts";
import { openValue, sealValue } from "#hub/platform/secrets/values.ts";

const dirs: string[] = [];
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true });
});
const newFile = (): string => {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-keys-"));
  dirs.push(dir);
  return join(dir, "secret.key");
};
const clock = { now: 0, monotonic: () => clock.now };
const follow = (path: string): Keyring => followKeyFile(path, readKeyFile(path) ?? [], clock);
const newKeys = (): Keyring => {
  const path = newFile();
  makeKeyFile(path);
  return follow(path);
};

describe("the file of keys", () => {
  test("is made once, for its user alone; of two that make it both have the first one's key", () => {
    const path = newFile();
    expect(readKeyFile(path)).toBeNull();
    const first = makeKeyFile(path);
    expect(first.made).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const second = makeKeyFile(path);
    expect([second.made, second.keys[0]?.id]).toEqual([false, first.keys[0]?.id]);
  });

  test("a new key comes first and the older one still decrypts, also where the file was read before", () => {
    const path = newFile();
    makeKeyFile(path);
    const before = follow(path);
    const old = sealValue(before, "x", ["a", "b"]);
    addKey(path);
    const after = follow(path);
    expect(openValue(after, old, ["a", "b"])).toBe("x");
    const fresh = sealValue(after, "y", ["a", "b"]);
    clock.now += 60_000;
    expect(openValue(before, fresh, ["a", "b"])).toBe("y");
  });

  test("what is no key is refused by its line, and not repeated", () => {
    const path = newFile();
    makeKeyFile(path);
    for (const bad of ["flotilla-key-1:short", "hunter2", `flotilla-key-2:${"A".repeat(43)}`]) {
      writeFileSync(path, `# keys\n${bad}\n`);
      expect(() => readKeyFile(path)).toThrow(/^SVC_SECRET_KEY_FILE: line 2 of .* is not a key$/);
    }
    writeFileSync(path, "# none\n");
    expect(() => readKeyFile(path)).toThrow("holds no key");
  });
});

describe("a value", () => {
  test("opens in its place alone, with its key alone, and as it was alone", () => {
    const keys = newKeys();
    const sealed = sealValue(keys, "s3cret ✓", ["cookie", "a.test", "sid"]);
    expect(openValue(keys, sealed, ["cookie", "a.test", "sid"])).toBe("s3cret ✓");
    expect(sealValue(keys, "s3cret ✓", ["cookie", "a.test", "sid"])).not.toBe(sealed);
    expect(() => openValue(keys, sealed, ["cookie", "b.test", "sid"])).toThrow("another place");
    // Parts of a place do not run into each other.
    expect(() => openValue(keys, sealed, ["cookie", "a.tests", "id"])).toThrow("another place");
    expect(() => openValue(newKeys(), sealed, ["cookie", "a.test", "sid"])).toThrow(
      /^key .* is not/,
    );
    for (let at = sealed.lastIndexOf(":") + 1; at < sealed.length - 1; at += 5) {
      const other = sealed[at] === "A" ? "B" : "A";
      const changed = sealed.slice(0, at) + other + sealed.slice(at + 1);
      expect(() => openValue(keys, changed, ["cookie", "a.test", "sid"])).toThrow("was changed");
    }
  });

  test("of an earlier version comes back as it is", () => {
    for (const plain of ["", "abc", "sealed:", "sealed:1:zz:x", "sealed:2:0123456789abcdef:AAAA"])
      expect(openValue(newKeys(), plain, ["a"])).toBe(plain);
  });
});

const SEGMENT = 64 * 1024;

async function* pieces(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
async function all(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of chunks) parts.push(part);
  return Buffer.concat(parts);
}

describe("a body", () => {
  test("of any length and in any pieces comes back as it was", async () => {
    const keys = newKeys();
    for (const length of [0, 1, SEGMENT - 1, SEGMENT, SEGMENT + 1, 2 * SEGMENT, 3 * SEGMENT + 17]) {
      const plain = randomBytes(length);
      for (const size of [1_000, SEGMENT, 200_000]) {
        const sealed = await all(sealStream(keys, pieces(plain, size), "p"));
        expect(await streamKeyId(pieces(sealed, 7))).toBe(keys.first.id);
        expect((await all(openStream(keys, pieces(sealed, size), "p"))).equals(plain)).toBe(true);
      }
    }
  });

  test("is refused when a segment is dropped, doubled, exchanged or cut off, changed, or of another place", async () => {
    const keys = newKeys();
    const sealed = await all(sealStream(keys, pieces(randomBytes(3 * SEGMENT), SEGMENT), "p"));
    const head = sealed.length - 3 * (SEGMENT + 16);
    const [a, b, c] = [0, 1, 2].map((n) =>
      sealed.subarray(head + n * (SEGMENT + 16), head + (n + 1) * (SEGMENT + 16)),
    ) as [Buffer, Buffer, Buffer];
    const begin = sealed.subarray(0, head);
    const forged = [
      [a, c],
      [a, b],
      [a],
      [],
      [b, a, c],
      [a, a, b, c],
      [a, b, c, c],
      [a, b, c.subarray(1)],
    ];
    for (const order of forged) {
      const body = Buffer.concat([begin, ...order]);
      await expect(all(openStream(keys, pieces(body, SEGMENT), "p"))).rejects.toThrow(
        /changed|cut off/,
      );
    }
    for (const at of [9, 20, 50, head + 5]) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      await expect(all(openStream(keys, pieces(changed, SEGMENT), "p"))).rejects.toThrow();
    }
    await expect(all(openStream(keys, pieces(sealed, SEGMENT), "q"))).rejects.toThrow(
      "another place",
    );
    await expect(all(openStream(newKeys(), pieces(sealed, SEGMENT), "p"))).rejects.toThrow(/^key /);
  });

  test("never has more than a few segments in memory", async () => {
    const keys = newKeys();
    let given = 0;
    const source = async function* () {
      for (let n = 0; n < 512; n += 1) {
        given += SEGMENT;
        yield new Uint8Array(SEGMENT);
      }
    };
    let taken = 0;
    let most = 0;
    for await (const chunk of openStream(keys, sealStream(keys, source(), "p"), "p")) {
      taken += chunk.byteLength;
      most = Math.max(most, given - taken);
    }
    expect(taken).toBe(512 * SEGMENT);
    expect(most).toBeLessThan(6 * SEGMENT);
  });

  test("of an earlier version comes back as it is", async () => {
    const keys = newKeys();
    for (const plain of [Buffer.alloc(0), Buffer.from("x"), readFileSync(import.meta.path)]) {
      expect(await streamKeyId(pieces(plain, 10))).toBeNull();
      expect((await all(openStream(keys, pieces(plain, 10), "p"))).equals(plain)).toBe(true);
    }
  });
});
