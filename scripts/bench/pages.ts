import { crc32, deflateSync } from "node:zlib";

/** Pages the benchmarks open: deterministic, on loopback, never cached between runs. */

const bytesOf = (seed: number, size: number): Uint8Array => {
  const bytes = new Uint8Array(size);
  let state = seed * 2_654_435_761 + 1;
  for (let i = 0; i < size; i += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
};

/** A valid PNG of about `side²` × 3 bytes: Chromium stops reading an image that it cannot decode. */
function pngOf(seed: number, side: number): Uint8Array<ArrayBuffer> {
  const rows = Buffer.alloc(side * (side * 3 + 1));
  for (let y = 0; y < side; y += 1) {
    const pixels = bytesOf(seed * 1_000 + y, side * 3);
    rows.set(pixels, y * (side * 3 + 1) + 1);
  }
  const chunk = (type: string, data: Uint8Array) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const ends = Buffer.alloc(8);
    ends.writeUInt32BE(data.length, 0);
    ends.writeUInt32BE(crc32(body), 4);
    return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return new Uint8Array(
    Buffer.concat([
      signature,
      chunk("IHDR", header),
      chunk("IDAT", deflateSync(rows)),
      chunk("IEND", Buffer.alloc(0)),
    ]),
  );
}

const respond = (body: string | Uint8Array<ArrayBuffer>, type: string) =>
  new Response(body, { headers: { "content-type": type, "cache-control": "no-store" } });

const many = (count: number, each: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => each(i)).join("");

/** 60 resources beside the document: 35 images, 8 style sheets, 9 scripts, 8 fetched JSON files. */
const sixty = `<!doctype html><title>sixty</title>
${many(8, (i) => `<link rel=stylesheet href=/s${i}.css>`)}${many(9, (i) => `<script defer src=/c${i}.js></script>`)}
${many(35, (i) => `<img width=20 height=20 src=/i${i}.png>`)}
<script>for (let i = 0; i < 8; i++) fetch("/j" + i + ".json").then((r) => r.json());</script>`;

const images = (count: number) =>
  `<!doctype html><title>images</title>${many(count, (i) => `<img width=8 height=8 src=/i${i}.png>`)}`;

/** Fetches `count` bodies of 25 MB one after the other and keeps none. */
const big = (count: number) => `<!doctype html><title>big</title><script type=module>
for (let i = 0; i < ${count}; i++) await (await fetch("/big" + i + ".bin")).arrayBuffer();
document.title = "done";</script>`;

export const BIG_BYTES = 25 * 1024 * 1024;

export function servePages() {
  const pictures = new Map<string, Uint8Array<ArrayBuffer>>();
  const bigBody = bytesOf(7, BIG_BYTES);
  const picture = (path: string) => {
    const known = pictures.get(path) ?? pngOf(pictures.size, 80);
    pictures.set(path, known);
    return known;
  };
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname === "/sixty") return respond(sixty, "text/html");
      if (pathname === "/images")
        return respond(images(Number(searchParams.get("n"))), "text/html");
      if (pathname === "/big") return respond(big(Number(searchParams.get("n"))), "text/html");
      if (pathname.startsWith("/big"))
        return respond(bigBody as Uint8Array<ArrayBuffer>, "application/octet-stream");
      if (pathname.endsWith(".css"))
        return respond(`.a{color:red}/*${"x".repeat(4_000)}*/`, "text/css");
      if (pathname.endsWith(".js")) return respond(`/*${"x".repeat(12_000)}*/`, "text/javascript");
      if (pathname.endsWith(".json"))
        return respond(`{"a":"${"x".repeat(2_000)}"}`, "application/json");
      return respond(picture(pathname), "image/png");
    },
  });
}
