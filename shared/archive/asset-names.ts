import mime from "mime";
import { MAX_ASSET_NAME_BYTES } from "../protocol/limits.ts";
import { isSafeName } from "../protocol/names.ts";
import type { AssetKind } from "../protocol/schema/asset.ts";

const FALLBACK_MIME = "application/octet-stream";
/** What servers send when they do not know the type; the extension is more reliable. */
const GENERIC = new Set(["", FALLBACK_MIME, "binary/octet-stream", "application/unknown"]);
const EXTENSION = /\.([A-Za-z0-9]{1,16})$/;

const extensionOf = (name: string): string => EXTENSION.exec(name)?.[1]?.toLowerCase() ?? "";

/**
 * The media type to store: the one the server sent, or the one the name implies when the server sent nothing useful.
 */
export function resolveMime(told: string, name: string): string {
  const type = told.split(";")[0]?.trim().toLowerCase() ?? "";
  if (!GENERIC.has(type) && type.length <= 255) return type;
  return mime.getType(extensionOf(name)) ?? FALLBACK_MIME;
}

export function assetKind(type: string): AssetKind {
  const [top = "", sub = ""] = type.split("/");
  if (top === "image" || top === "video" || top === "audio") return top;
  return sub === "ogg" ? "audio" : "other";
}

/** Hands out names that are safe on every file system and unique within a job, ignoring case. */
export interface Namer {
  /** `suggested`: the name that the server or page gave a download. */
  take(
    url: string,
    told_mime: string,
    suggested?: string,
  ): { name: string; mime: string; ext: string };
}

export function createNamer(): Namer {
  const taken = new Set<string>();
  const next = new Map<string, number>();
  return {
    take: (url, told_mime, suggested) => {
      const base = sanitize(suggested?.trim() || lastSegment(url)) || "index";
      const type = resolveMime(told_mime, base);
      const ext = extensionOf(base) || (mime.getExtension(type) ?? "");
      const stem = EXTENSION.test(base) ? base.replace(EXTENSION, "") : base;
      const tail = EXTENSION.exec(base)?.[0] ?? (ext ? `.${ext}` : "");
      const key = `${stem}${tail}`.toLowerCase();
      for (let n = next.get(key) ?? 1; ; n += 1) {
        const name = fit(stem, n === 1 ? tail : `-${n}${tail}`);
        if (taken.has(name.toLowerCase())) continue;
        taken.add(name.toLowerCase());
        next.set(key, n + 1);
        return { name, mime: type, ext };
      }
    },
  };
}

function lastSegment(raw: string): string {
  if (!URL.canParse(raw)) return "";
  const url = new URL(raw);
  if (url.protocol === "blob:" || url.protocol === "data:") return "download";
  const segment = url.pathname.split("/").findLast((part) => part !== "") ?? "";
  const last = url.pathname.endsWith("/") ? "index" : segment;
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

function sanitize(raw: string): string {
  return (
    raw
      .toWellFormed()
      .normalize("NFC")
      // biome-ignore lint/suspicious/noControlCharactersInRegex: controls are exactly what is replaced
      .replace(/[\u0000-\u001f\u007f<>:"/\\|?*%#]/g, "_")
      .replace(/^[. ]+|[. ]+$/g, "")
  );
}

/** Cuts the stem, never the tail, so that the number and the extension survive the limit. */
function fit(stem: string, tail: string): string {
  const encoder = new TextEncoder();
  const room = MAX_ASSET_NAME_BYTES - encoder.encode(tail).length;
  let cut = stem;
  while (encoder.encode(cut).length > room) cut = cut.slice(0, -1).toWellFormed();
  const name = `${cut.replace(/[. ]+$/, "") || "file"}${tail}`;
  return isSafeName(name) ? name : `_${name}`.slice(0, MAX_ASSET_NAME_BYTES);
}
