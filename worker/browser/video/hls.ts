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

const ATTRIBUTE = /([A-Z0-9-]+)=("[^"]*"|[^,]*)/g;

const attributes = (line: string): Map<string, string> =>
  new Map(
    [...line.slice(line.indexOf(":") + 1).matchAll(ATTRIBUTE)].map(([, name = "", value = ""]) => [
      name,
      value.replace(/^"|"$/g, ""),
    ]),
  );

const KEY_SYSTEMS: [RegExp, string][] = [
  [/edef8ba9-79d6-4ace-a3c8-27dcd51d21ed|widevine/i, "Widevine"],
  [/9a04f079-9840-4286-ab92-e65be0885f95|playready/i, "PlayReady"],
  [/94ce86fb-07ff-4f43-adb8-93d2fa968ca2|com\.apple\.|streamingkeydelivery/i, "FairPlay"],
];

/** The name of the key system in a manifest's description of its keys; `DRM` for an unknown one. */
export const keySystemOf = (text: string): string =>
  KEY_SYSTEMS.find(([pattern]) => pattern.test(text))?.[1] ?? "DRM";

/**
 * AES-128 with the key at a URL is transport encryption, which any player can decrypt; everything else needs a
 * licence.
 */
function drmOf(lines: string[]): string | null {
  for (const line of lines) {
    if (!/^#EXT-X-(SESSION-)?KEY:/.test(line)) continue;
    const of = attributes(line);
    const method = of.get("METHOD") ?? "NONE";
    const format = of.get("KEYFORMAT") ?? "identity";
    if (method === "NONE" || (method === "AES-128" && format === "identity")) continue;
    return keySystemOf(`${format} ${of.get("URI") ?? ""}`);
  }
  return null;
}

/** Parses a playlist (RFC 8216); null when the text is not a playlist. URLs are returned absolute. */
export function parseHls(text: string, url: string): HlsPlaylist | null {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  if (lines[0]?.replace(/^\uFEFF/, "") !== "#EXTM3U") return null;
  const absolute = (uri: string) => (URL.canParse(uri, url) ? new URL(uri, url).href : null);
  const drm = drmOf(lines);
  if (!lines.some((line) => line.startsWith("#EXT-X-STREAM-INF"))) {
    const lengths = lines.filter((line) => line.startsWith("#EXTINF:"));
    const duration_s = lengths.reduce(
      (sum, line) => sum + (Number.parseFloat(line.slice(8)) || 0),
      0,
    );
    return { kind: "media", live: !lines.includes("#EXT-X-ENDLIST"), duration_s, drm };
  }
  const media = lines.filter((line) => line.startsWith("#EXT-X-MEDIA:")).map(attributes);
  const audioOf = (group: string | undefined): string | null => {
    const tracks = media.filter((m) => m.get("TYPE") === "AUDIO" && m.get("GROUP-ID") === group);
    const track = tracks.find((m) => m.get("DEFAULT") === "YES") ?? tracks[0];
    const uri = track?.get("URI");
    return uri ? absolute(uri) : null;
  };
  const variants: HlsVariant[] = [];
  for (const [i, line] of lines.entries()) {
    if (!line.startsWith("#EXT-X-STREAM-INF:")) continue;
    const uri = lines.slice(i + 1).find((next) => next !== "" && !next.startsWith("#"));
    const child = uri === undefined ? null : absolute(uri);
    if (child === null) continue;
    const of = attributes(line);
    variants.push({
      url: child,
      bandwidth: Number(of.get("BANDWIDTH")) || 0,
      height: Number(of.get("RESOLUTION")?.split("x")[1]) || 0,
      audio_url: audioOf(of.get("AUDIO")),
    });
  }
  variants.sort((a, b) => b.height - a.height || b.bandwidth - a.bandwidth);
  const others = [
    ...media.map((m) => m.get("URI")),
    ...lines
      .filter((line) => line.startsWith("#EXT-X-I-FRAME-STREAM-INF:"))
      .map((line) => attributes(line).get("URI")),
  ].map((uri) => (uri ? absolute(uri) : null));
  const children = [...variants.map((v) => v.url), ...others].filter((child) => child !== null);
  return { kind: "master", variants, children, drm };
}
