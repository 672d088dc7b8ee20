import { gunzipSync } from "node:zlib";
import { SaxesParser } from "saxes";

/** A sitemap that was unpacked (sitemaps.org). */
export const MAX_SITEMAP_BYTES = 50 * 1024 * 1024;
/** What the parser is given at a time: it stops at a fault. */
const PIECE = 1 << 16;

export interface Sitemap {
  pages: string[];
  /** Of a sitemap of sitemaps. */
  sitemaps: string[];
}

/** @throws when what is compressed is cut off, or longer than a sitemap may be. */
function unpacked(body: Uint8Array): Uint8Array {
  const isGzip = body[0] === 0x1f && body[1] === 0x8b;
  return isGzip ? gunzipSync(body, { maxOutputLength: MAX_SITEMAP_BYTES }) : body;
}

/**
 * The addresses of a sitemap in XML, or in text with one on each line (sitemaps.org). What is broken ends the list; the
 * addresses before it count.
 */
export function readSitemap(body: Uint8Array): Sitemap {
  const text = new TextDecoder().decode(unpacked(body));
  if (!text.trimStart().startsWith("<"))
    return { pages: text.split(/\s+/).filter(Boolean), sitemaps: [] };
  const found: Sitemap = { pages: [], sitemaps: [] };
  const path: string[] = [];
  let loc = "";
  const parser = new SaxesParser({ xmlns: false });
  parser.on("opentag", ({ name }) => {
    path.push(name.replace(/^.*:/, ""));
    loc = "";
  });
  const add = (piece: string) => {
    if (path.at(-1) === "loc") loc += piece;
  };
  parser.on("text", add);
  parser.on("cdata", add);
  parser.on("closetag", () => {
    const [parent, name] = path.slice(-2);
    if (name === "loc" && parent === "url") found.pages.push(loc.trim());
    if (name === "loc" && parent === "sitemap") found.sitemaps.push(loc.trim());
    path.pop();
  });
  let broken = false;
  parser.on("error", () => {
    broken = true;
  });
  for (let at = 0; at < text.length && !broken; at += PIECE)
    parser.write(text.slice(at, at + PIECE));
  return found;
}
