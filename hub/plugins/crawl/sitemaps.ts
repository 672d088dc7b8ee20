import { constants, gunzipSync } from "node:zlib";
import { SaxesParser } from "saxes";

/** A sitemap that was unpacked (sitemaps.org). */
export const MAX_SITEMAP_BYTES = 50 * 1024 * 1024;
/** What the parser is given at a time: it stops at a fault. */
const PIECE = 1 << 16;

export interface Sitemap {
  pages: string[];
  /** Of a sitemap of sitemaps. */
  sitemaps: string[];
  /** It has no end: there may be more in it. */
  is_cut: boolean;
}
export const EMPTY: Sitemap = { pages: [], sitemaps: [], is_cut: false };

/** @throws when what is compressed is longer than a sitemap may be */
function unpacked(body: Uint8Array): { bytes: Uint8Array; is_cut: boolean } {
  const isGzip = body[0] === 0x1f && body[1] === 0x8b;
  if (!isGzip) return { bytes: body, is_cut: false };
  const limit = { maxOutputLength: MAX_SITEMAP_BYTES };
  try {
    return { bytes: gunzipSync(body, limit), is_cut: false };
  } catch (err) {
    if ((err as { code?: string }).code !== "Z_BUF_ERROR") throw err;
    // As much as can be unpacked without its end.
    const finishFlush = constants.Z_SYNC_FLUSH;
    return { bytes: gunzipSync(body, { ...limit, finishFlush }), is_cut: true };
  }
}

/** Without the address that was being written when the text broke off. */
function readLines(text: string, is_cut: boolean): Sitemap {
  const whole = is_cut ? text.replace(/\S+$/, "") : text;
  return { pages: whole.split(/\s+/).filter(Boolean), sitemaps: [], is_cut };
}

/**
 * The addresses of a sitemap in XML, or in text with one on each line (sitemaps.org). What is broken ends the list; the
 * addresses before it count. `lacks_end`: not all of the body is here.
 */
export function readSitemap(body: Uint8Array, lacks_end = false): Sitemap {
  const { bytes, is_cut } = unpacked(body);
  const text = new TextDecoder().decode(bytes);
  if (!text.trimStart().startsWith("<")) return readLines(text, is_cut || lacks_end);
  const found: Sitemap = { pages: [], sitemaps: [], is_cut: is_cut || lacks_end };
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
  // Some servers break off without saying so.
  if (!broken && path.length > 0) found.is_cut = true;
  return found;
}
