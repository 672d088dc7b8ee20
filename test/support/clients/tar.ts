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

/** The header of a file; its body and padding are the caller's. Made by hand, because some tests need a million. */
export function tarHeader(name: string, size: number): Buffer {
  const { block: template, sum: base } = templateOf(size);
  const block = Buffer.from(template);
  const length = block.write(name, 0);
  let sum = base;
  for (let i = 0; i < length; i += 1) sum += block[i] ?? 0;
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}

const templates = new Map<number, { block: Buffer; sum: number }>();

/** All but the name and the checksum. */
function templateOf(size: number) {
  const known = templates.get(size);
  if (known) return known;
  const block = Buffer.alloc(512);
  block.write("0000600\0", 100);
  if (size < 8 ** 11) block.write(`${size.toString(8).padStart(11, "0")}\0`, 124);
  else {
    block[124] = 0x80;
    block.writeBigUInt64BE(BigInt(size), 128);
  }
  block.write("        0", 148);
  block.write("ustar\u000000", 257);
  const made = { block, sum: block.reduce((total, byte) => total + byte, 0) };
  templates.set(size, made);
  return made;
}
