import { VideoError } from "./video-settings.ts";

/** One variant: its playlist, and that of its audio if it is separate. */
export interface HlsVariant {
  url: string;
  bandwidth: number;
  height: number;
  audio_url: string | null;
}

export type HlsPlaylist =
  | {
      kind: "master";
      /** Best first. */
      variants: HlsVariant[];
      /** Every playlist it names. */
      children: string[];
      drm: string | null;
    }
  | { kind: "media"; live: boolean; duration_s: number; drm: string | null };

const KEY_SYSTEMS: [RegExp, string][] = [
  [/edef8ba9-79d6-4ace-a3c8-27dcd51d21ed|widevine/i, "Widevine"],
  [/9a04f079-9840-4286-ab92-e65be0885f95|playready/i, "PlayReady"],
  [/94ce86fb-07ff-4f43-adb8-93d2fa968ca2|com\.apple\.|streamingkeydelivery/i, "FairPlay"],
];

/** The name of the key system in a manifest's description of its keys; `DRM` for an unknown one. */
export const keySystemOf = (text: string): string =>
  KEY_SYSTEMS.find(([pattern]) => pattern.test(text))?.[1] ?? "DRM";

type Attributes = ReadonlyMap<string, string>;

/** What a tag says after its colon. A name is short, so that a line of one long word costs no more than others. */
function attributesOf(list: string): Attributes {
  const found = new Map<string, string>();
  for (const [, name = "", value = ""] of list.matchAll(
    /(?:^|,)\s*([A-Z0-9-]{1,64})=("[^"]*"|[^,]*)/g,
  ))
    found.set(name, value.trim().replace(/^"|"$/g, ""));
  return found;
}

/**
 * AES-128 with the key at a URL is transport encryption, which any player can decrypt; everything else needs a
 * licence.
 */
function drmOf(key: Attributes): string | null {
  const method = key.get("METHOD") ?? "NONE";
  const format = key.get("KEYFORMAT") ?? "identity";
  if (method === "NONE" || (method === "AES-128" && format === "identity")) return null;
  return keySystemOf(`${format} ${key.get("URI") ?? ""}`);
}

/** Far more than an honest playlist has: a key for every second of a day, and every language at every size. */
const MAX_ATTRIBUTE_CHARS = 8 * 1024 * 1024;
const MAX_NAMED = 1_000;

/** One after the other: a playlist may have millions. */
function* linesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf("\n", at);
    yield text.slice(at, end < 0 ? undefined : end).trim();
    at = end < 0 ? text.length : end + 1;
  }
}

/** What the tags of a playlist say. */
interface Tags {
  streams: { of: Attributes; uri: string }[];
  media: Attributes[];
  /** Playlists of single pictures. */
  i_frames: Attributes[];
  drm: string | null;
  duration_s: number;
  ended: boolean;
  /** It has variants, which name other playlists. */
  master: boolean;
}

const TAG = /^#(EXTINF|EXT-X-(?:ENDLIST|(?:SESSION-)?KEY|MEDIA|(?:I-FRAME-)?STREAM-INF))(?::|$)/;

/** @throws VideoError when it names more than an honest playlist does. */
function readTags(text: string): Tags {
  const tags: Tags = {
    streams: [],
    media: [],
    i_frames: [],
    drm: null,
    duration_s: 0,
    ended: false,
    master: false,
  };
  let stream: Attributes | null = null;
  let chars = 0;
  let named = 0;
  for (const line of linesOf(text)) {
    if (line !== "" && !line.startsWith("#")) {
      if (stream) tags.streams.push({ of: stream, uri: line });
      stream = null;
      continue;
    }
    const [all = "", tag] = TAG.exec(line) ?? [];
    if (tag === undefined) continue;
    const rest = line.slice(all.length);
    if (tag === "EXT-X-ENDLIST") tags.ended = true;
    else if (tag === "EXTINF") tags.duration_s += Number.parseFloat(rest) || 0;
    else {
      chars += rest.length;
      if (!tag.endsWith("KEY")) named += 1;
      if (chars > MAX_ATTRIBUTE_CHARS || named > MAX_NAMED)
        throw new VideoError("the playlist names too much");
      const of = attributesOf(rest);
      if (tag.endsWith("KEY")) tags.drm ??= drmOf(of);
      else if (tag === "EXT-X-MEDIA") tags.media.push(of);
      else if (tag === "EXT-X-STREAM-INF") {
        stream = of;
        tags.master = true;
      } else tags.i_frames.push(of);
    }
  }
  return tags;
}

/**
 * Parses a playlist (RFC 8216) in time proportional to its length; null when the text is not a playlist. URLs are returned
 * absolute.
 * @throws VideoError when it names too much.
 */
export function parseHls(text: string, url: string): HlsPlaylist | null {
  // A byte order mark is white space as well.
  if (linesOf(text).next().value !== "#EXTM3U") return null;
  const { streams, media, i_frames, drm, duration_s, ended, master } = readTags(text);
  if (!master) return { kind: "media", live: !ended, duration_s, drm };
  const absolute = (uri: string | undefined): string | null =>
    uri && URL.canParse(uri, url) ? new URL(uri, url).href : null;
  const audioOf = (group: string | undefined): string | null => {
    const tracks = media.filter((m) => m.get("TYPE") === "AUDIO" && m.get("GROUP-ID") === group);
    const track = tracks.find((m) => m.get("DEFAULT") === "YES") ?? tracks[0];
    return absolute(track?.get("URI"));
  };
  const variants = streams.flatMap(({ of, uri }) => {
    const child = absolute(uri);
    if (child === null) return [];
    const bandwidth = Number(of.get("BANDWIDTH")) || 0;
    const height = Number(of.get("RESOLUTION")?.split("x")[1]) || 0;
    return { url: child, bandwidth, height, audio_url: audioOf(of.get("AUDIO")) };
  });
  variants.sort((a, b) => b.height - a.height || b.bandwidth - a.bandwidth);
  const others = [...media, ...i_frames].map((of) => absolute(of.get("URI")));
  const children = [...variants.map((v) => v.url), ...others].filter((child) => child !== null);
  return { kind: "master", variants, children, drm };
}
