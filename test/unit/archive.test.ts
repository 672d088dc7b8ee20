import { describe, expect, test } from "bun:test";
import { join, normalize } from "node:path";
import fc from "fast-check";
import { ArchiveError } from "#shared/archive/archive-error.ts";
import { entryPath } from "#shared/archive/entry-path.ts";
import { createShapeFinder, keepsFile, normalPath } from "#shared/archive/profile-shape.ts";
import { readTar } from "#shared/archive/read-tar.ts";
import { makeTar, makeTarGz, type TarEntry } from "#test/support/clients/tar.ts";

const LIMITS = { max_unpacked_bytes: 1_000_000, max_entries: 100 };

async function* piecesOf(bytes: Uint8Array, size = 700): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Paths and texts, or the error's words. */
async function read(bytes: Uint8Array, limits = LIMITS): Promise<Record<string, string> | string> {
  const files: Record<string, string> = {};
  try {
    for await (const file of readTar(piecesOf(bytes), limits)) {
      const parts: Uint8Array[] = [];
      for await (const part of file.body) parts.push(part);
      files[file.path.join("/")] = Buffer.concat(parts).toString();
    }
    return files;
  } catch (err) {
    if (!(err instanceof ArchiveError)) throw err;
    return err.message;
  }
}
const refusal = async (...entries: TarEntry[]) => read(await makeTarGz(entries));

describe("an archive is judged entry by entry (rules/profiles#hostile-archives)", () => {
  test("plain files are read from tar and tar.gz, in pieces of any size", async () => {
    const entries: TarEntry[] = [
      ["Default/a", "1"],
      { name: "Default/empty", size: 0 },
      ["Default/b", "x".repeat(5_000)],
    ];
    const expected = { "Default/a": "1", "Default/empty": "", "Default/b": "x".repeat(5_000) };
    expect(await read(await makeTar(entries))).toEqual(expected);
    expect(await read(await makeTarGz(entries))).toEqual(expected);
    const tar = await makeTar(entries);
    const skipped: string[] = [];
    for await (const file of readTar(piecesOf(tar, 1), LIMITS)) skipped.push(file.path.join("/"));
    expect(skipped).toEqual(Object.keys(expected));
  });

  test("names that could lead elsewhere are refused, naming the entry", async () => {
    for (const name of [
      "../x",
      "a/../../x",
      "/etc/x",
      "C:/x",
      "C:x",
      "a\\..\\x",
      "a/./b",
      "a//b",
    ]) {
      const said = await refusal([name, "x"]);
      expect(said).toBeString();
      expect(said).toContain(JSON.stringify(name));
    }
    const nul = await makeTar([{ name: "x", size: 0, pax: { path: "Default/a\0b" } }]);
    expect(await read(nul)).toContain("control characters");
    const deep = { name: "x", size: 0, pax: { path: `${"a/".repeat(80)}b` } };
    expect(await refusal(deep)).toContain("deeper than 64");
    expect(await refusal({ name: "x", size: 0, pax: { path: "a".repeat(300) } })).toContain("255");
  });

  test("links, devices and sparse files are refused, naming the entry", async () => {
    const of = (type: "symlink" | "link" | "fifo" | "character-device" | "block-device") =>
      refusal({ name: "Default/evil", type, linkname: "/etc/passwd" });
    expect(await of("symlink")).toBe('entry "Default/evil" is a symbolic link');
    expect(await of("link")).toBe('entry "Default/evil" is a hard link');
    expect(await of("fifo")).toBe('entry "Default/evil" is a named pipe');
    expect(await of("character-device")).toBe('entry "Default/evil" is a device');
    expect(await of("block-device")).toBe('entry "Default/evil" is a device');
    const sparse = { name: "Default/evil", size: 0, pax: { "GNU.sparse.major": "1" } };
    expect(await refusal(sparse)).toBe('entry "Default/evil" is a sparse file');
    // The old GNU kind: typeflag S.
    const old = await makeTar([{ name: "Default/evil", size: 0 }]);
    old[156] = "S".charCodeAt(0);
    old.write("        ", 148);
    const sum = old.subarray(0, 512).reduce((total, byte) => total + byte, 0);
    old.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
    expect(await read(old)).toContain("sparse");
  });

  test("the same file twice, and a file below a file", async () => {
    expect(await refusal(["Default/a", "1"], ["./Default/a", "2"])).toContain("twice");
    expect(await refusal(["Default/a", "1"], ["Default/a/b", "2"])).toContain("below a file");
    expect(await refusal(["Default/a/b", "1"], ["Default/a", "2"])).toContain("twice");
  });

  test("too many entries, too many bytes, and a size that is only claimed", async () => {
    const many = Array.from({ length: 101 }, (_, i): TarEntry => [`Default/${i}`, ""]);
    expect(await refusal(...many)).toBe("the archive has more than 100 entries");
    expect(await refusal(["Default/a", "x".repeat(1_000_001)])).toContain("unpacks to more than");
    const claimed = await makeTar([["Default/a", "x"]]);
    claimed.write("77777777777\0", 124);
    claimed.write("        ", 148);
    const sum = claimed.subarray(0, 512).reduce((total, byte) => total + byte, 0);
    claimed.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
    expect(await read(claimed)).toContain("unpacks to more than");
  });

  test("cut off or damaged anywhere: never half an archive, never another error", async () => {
    const whole = await makeTarGz([
      ["Default/a", crypto.getRandomValues(new Uint8Array(3_000))],
      ["Default/b", "2"],
    ]);
    for (let cut = 1; cut < whole.length; cut += 97)
      expect([cut, await read(whole.subarray(0, cut))]).toEqual([cut, expect.any(String)]);
    const tar = await makeTar([["Default/a", "x".repeat(2_000)]]);
    expect(await read(tar.subarray(0, 1_500))).toContain("cut off");
    const flipped = Buffer.from(whole);
    flipped[whole.length >> 1] = (flipped[whole.length >> 1] ?? 0) ^ 0xff;
    expect(await read(flipped)).toBeString();
  });

  test("any bytes: an ArchiveError or files, in bounded time", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 2_048 }), async (bytes) => {
        await read(bytes);
      }),
      { numRuns: 60 },
    );
  });

  test("any name: refused, or a path that stays inside", () => {
    const part = fc.oneof(fc.constantFrom("..", ".", "", "a", "\0", "\\", "C:"), fc.string());
    const name = fc.oneof(
      fc.string(),
      fc.array(part).map((parts) => parts.join("/")),
    );
    fc.assert(
      fc.property(name, (text) => {
        let path: string[];
        try {
          path = entryPath(text);
        } catch (err) {
          return err instanceof ArchiveError;
        }
        const joined = join("/root/dir", ...path);
        return (
          joined === normalize(joined) &&
          (joined === "/root/dir" || joined.startsWith("/root/dir/"))
        );
      }),
      { numRuns: 500 },
    );
  });
});

describe("the profile in an archive (rules/profiles#shapes-of-an-archive)", () => {
  const find = (...paths: string[]) => {
    const shape = createShapeFinder();
    for (const path of paths) shape.see(path.split("/"));
    return shape.find();
  };

  test("Default/, one Profile <N>/, or files at the root", () => {
    expect(find("Profile 1/Cookies", "Default/Cookies")).toBe("Default");
    expect(find("Profile 12/Cookies", "Local State")).toBe("Profile 12");
    expect(find("Cookies")).toBe("");
    expect(() => find("Profile 1/a", "Profile 2/a")).toThrow("several profiles");
    expect(() => find("Local State")).toThrow("no profile found");
    expect(() => find("Profile x/Cookies", "other/Cookies")).toThrow("no profile found");
  });

  test("where files go, and which are left out", () => {
    const at = (base: string, path: string) => normalPath(base, path.split("/"))?.join("/");
    expect(at("Profile 2", "Profile 2/Network/Cookies")).toBe("Default/Network/Cookies");
    expect(at("Profile 2", "Default/Cookies")).toBeUndefined();
    expect(at("", "Local Storage/leveldb/1.ldb")).toBe("Default/Local Storage/leveldb/1.ldb");
    expect(at("", "Local State")).toBe("Local State");
    expect(at("Default", "Default/Cache/x")).toBeUndefined();
    expect(keepsFile(["Service Worker", "ScriptCache", "x"])).toBe(true);
    expect(keepsFile(["a", "SingletonSocket"])).toBe(false);
    expect(keepsFile(["a", "Extensions"])).toBe(true);
    const of_extensions = ["Extensions", "Extension State", "DNR Extension Rules", "Policy"];
    for (const name of [...of_extensions, "Local Extension Settings", "Sync App Settings"])
      expect([name, keepsFile([name, "x"])]).toEqual([name, false]);
  });
});
