import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { packSources } from "#hub/fleet/update/pack-sources.ts";
import { readTar } from "#shared/archive/read-tar.ts";
import { CARRIED_FILES } from "#shared/carried-files.ts";
import { nodeVersion, SOURCE_ROOT } from "#shared/protocol/version.ts";
import { startTestHub } from "#test/support/rigs/hub.ts";
import { CARRIED, carriedFilesText } from "../../scripts/gen-carried-files.ts";

const LIMITS = { max_unpacked_bytes: 50 * 1024 ** 2, max_entries: 10_000 };

async function unpack(archive: Uint8Array): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  const chunks = (async function* () {
    yield archive;
  })();
  for await (const file of readTar(chunks, LIMITS)) {
    const parts: Uint8Array[] = [];
    for await (const part of file.body) parts.push(part);
    files.set(file.path.join("/"), Buffer.concat(parts));
  }
  return files;
}

test("GET /worker-source.tar.gz serves the sources and VERSION, with ETag and HEAD, and asks for no token (rules/updates#worker-source)", async () => {
  const version = nodeVersion(undefined);
  const hub = await startTestHub({ version, env: { SVC_API_TOKEN: "t0ken" } });
  try {
    const url = `${hub.url}/worker-source.tar.gz`;
    const got = await fetch(url);
    expect(got.status).toBe(200);
    expect(got.headers.get("content-type")).toBe("application/gzip");
    const archive = await got.bytes();
    const again = await fetch(url);
    expect(Buffer.compare(await again.bytes(), archive)).toBe(0);
    const etag = got.headers.get("etag") ?? "";
    expect((await fetch(url, { headers: { "If-None-Match": etag } })).status).toBe(304);
    expect((await fetch(url, { headers: { "If-None-Match": '"other"' } })).status).toBe(200);
    const head = await fetch(url, { method: "HEAD" });
    expect([head.status, head.headers.get("content-length")]).toEqual([
      200,
      String(archive.byteLength),
    ]);
    expect((await fetch(url, { method: "POST" })).status).toBe(405);

    const files = await unpack(archive);
    expect(files.get("VERSION")?.toString().trim()).toBe(version);
    const paths = [...files.keys()];
    expect(paths).toContain("worker/program/services.ts");
    expect(paths).toContain("hub/main.ts");
    expect(paths.filter((path) => path.split("/").some((part) => part.startsWith(".")))).toEqual(
      [],
    );
    const hash = createHash("sha256");
    for (const path of paths.filter((p) => /\.(ts|tsx|sql)$/.test(p)).sort())
      hash
        .update(path)
        .update("\0")
        .update(files.get(path) ?? "");
    expect(hash.digest("hex").slice(0, 12)).toBe(version);
  } finally {
    await hub.close();
  }
});

test("a hub or control plane whose sources changed since it started says so instead of serving others", async () => {
  for (const mode of ["hub", "control"] as const) {
    const hub = await startTestHub({ version: "0123456789ab", mode });
    try {
      const got = await hub.call("GET", "/worker-source.tar.gz");
      expect(got.status).toBe(503);
      expect(got.body.detail).toContain("restart it");
    } finally {
      await hub.close();
    }
  }
});

test("the archive is the same byte for byte, and what is carried next to the sources is named in them (rules/updates#worker-source)", async () => {
  const [one, two] = await Promise.all([packSources(SOURCE_ROOT), packSources(SOURCE_ROOT)]);
  expect(Buffer.compare(one.archive, two.archive)).toBe(0);
  expect(await Bun.file(CARRIED).text()).toBe(await carriedFilesText());
  const files = await unpack(one.archive);
  for (const [path, sha256] of Object.entries(CARRIED_FILES))
    expect(
      createHash("sha256")
        .update(files.get(path) ?? "")
        .digest("hex"),
    ).toBe(sha256);
});
