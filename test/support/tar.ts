import { pack } from "tar-stream";

type Header = Parameters<ReturnType<typeof pack>["entry"]>[0];

/** One entry: a file's name and text, or a whole header with an optional body. */
export type TarEntry =
  | [name: string, body: string | Uint8Array]
  | (Partial<Header> & { name: string });

/** A plain tar of these entries, in order. */
export async function makeTar(entries: TarEntry[]): Promise<Buffer> {
  const tar = pack();
  for (const entry of entries) {
    if (Array.isArray(entry)) tar.entry({ name: entry[0] }, Buffer.from(entry[1]));
    else tar.entry(entry as Header).end(null);
  }
  tar.finalize();
  const parts: Uint8Array[] = [];
  for await (const part of tar) parts.push(part as Uint8Array);
  return Buffer.concat(parts);
}

export const makeTarGz = async (entries: TarEntry[]): Promise<Buffer> =>
  Buffer.from(Bun.gzipSync(new Uint8Array(await makeTar(entries))));

/** Names and texts in a tar.gz, as the system's tar sees them. */
export async function listTarGz(archive: Uint8Array): Promise<Record<string, string>> {
  const { extract } = await import("tar-stream");
  const tar = extract();
  tar.end(Buffer.from(Bun.gunzipSync(new Uint8Array(archive))));
  const files: Record<string, string> = {};
  for await (const entry of tar) {
    const parts: Uint8Array[] = [];
    for await (const part of entry) parts.push(part as Uint8Array);
    files[entry.header.name] = Buffer.concat(parts).toString();
  }
  return files;
}
