import { describe, expect, test } from "bun:test";
import { parseDash } from "#worker/browser/video/dash.ts";
import { parseHls } from "#worker/browser/video/hls.ts";

/**
 * Manifests come from strangers, up to the 16 MB that are read of one. None keeps the worker, which serves its other
 * lanes in the same process, busy for longer than this, in CPU time: reading them takes a second or two, and in quadratic
 * time it would take hours.
 */
const MAX_CPU_MS = 10_000;
const BYTES = 16_000_000;
const many = (piece: string, bytes = BYTES): string =>
  piece.repeat(Math.floor(bytes / piece.length));

async function within<T>(parse: () => T | Promise<T>): Promise<T | string> {
  const before = process.cpuUsage();
  const result = await Promise.try(parse).catch((err: Error) => `${err.name}: ${err.message}`);
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(MAX_CPU_MS);
  return result;
}

const URL = "http://cdn.test/v/list.m3u8";
const MALFORMED = "VideoError: the manifest is malformed";

describe("a hostile MPD", () => {
  const HEAD = '<MPD type="static" mediaPresentationDuration="PT9S"><Period><AdaptationSet>';
  const TAIL = "</AdaptationSet></Period></MPD>";
  const NOTHING = { live: false, duration_s: null, drm: null };
  const FACTS = { live: false, duration_s: 9, drm: null };
  test.each([
    [
      "that counts a billion segments",
      `${HEAD}<SegmentTemplate media="$Number%05d$.m4s" duration="1" timescale="1000000000"><SegmentTimeline><S t="0" d="1" r="1000000000"/></SegmentTimeline></SegmentTemplate>${TAIL}`,
      FACTS,
    ],
    ["with a million bases, each inside the others", `${HEAD}${many("<BaseURL/>")}${TAIL}`, FACTS],
    ["with a timeline of 16 MB", `${HEAD}${many('<S d="180180"/>')}${TAIL}`, FACTS],
    ["with four million elements", `${HEAD}${many("<a/>")}${TAIL}`, FACTS],
    ["with 16 MB of text", `${HEAD}${many("x")}${TAIL}`, FACTS],
    ["with entities upon entities", many("&amp;").replace(/^/, HEAD) + TAIL, FACTS],
    [
      "with a million attributes",
      `<MPD ${Array.from({ length: 1_000_000 }, (_, i) => `a${i}="1"`).join(" ")}/>`,
      "VideoError: the manifest names too much",
    ],
    ["that nests without end", `<MPD>${many("<a>")}`, NOTHING],
    [
      "with a bomb of entities",
      `<!DOCTYPE MPD [<!ENTITY a "${"x".repeat(1_000)}"><!ENTITY b "${many("&a;", 3_000)}">]><MPD type="&b;"/>`,
      NOTHING,
    ],
    [
      "that names a file of this machine",
      '<!DOCTYPE MPD [<!ENTITY f SYSTEM "file:///etc/passwd">]><MPD><BaseURL>&f;</BaseURL></MPD>',
      NOTHING,
    ],
    ["of opened comments", `<MPD>${many("<!--")}`, MALFORMED],
    ["of opened tags", `<MPD${many("<MPD")}`, MALFORMED],
    ["whose name never ends", `<MPD><${many("a")}`, MALFORMED],
    ["whose attribute never ends", `<MPD a="${many("x")}`, MALFORMED],
  ])("%s is read in time", async (_what, text, expected) => {
    expect(await within(() => parseDash(text))).toEqual(expected);
  });
});

describe("a hostile playlist", () => {
  const live = (duration_s: number) => ({ kind: "media", live: true, duration_s, drm: null });
  const TOO_MUCH = "VideoError: the playlist names too much";
  const MASTER = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\na.m3u8\n";
  const variant = { url: "http://cdn.test/v/a.m3u8", bandwidth: 1, height: 0, audio_url: null };
  test.each([
    ["of 16 MB of segments", `#EXTM3U\n${many("#EXTINF:1,\na\n")}`, live(1_230_769)],
    ["of 16 MB of variants", `#EXTM3U\n${many("#EXT-X-STREAM-INF:A=1\na\n")}`, TOO_MUCH],
    [
      "of 16 MB of renditions",
      MASTER + many('#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="a",URI="b"\n'),
      TOO_MUCH,
    ],
    ["of 16 MB of keys", `#EXTM3U\n${many("#EXT-X-KEY:METHOD=NONE\n")}`, live(0)],
    ["whose key is 16 MB of commas", `#EXTM3U\n#EXT-X-KEY:${many(",")}\n#EXTINF:1,\na`, TOO_MUCH],
    ["whose key is 16 MB of one name", `#EXTM3U\n#EXT-X-KEY:${many("A")}\n#EXTINF:1,\na`, TOO_MUCH],
    [
      "whose key is 8 MB of commas",
      `#EXTM3U\n#EXT-X-KEY:${many(",", BYTES / 2)}\n#EXTINF:1,\na`,
      live(1),
    ],
    [
      "whose dates all overlap",
      `#EXTM3U\n${many('#EXT-X-DATERANGE:ID="a",CLASS="a",START-DATE="2026-01-01",DURATION=9\n#EXTINF:1,\na\n', 4_000_000)}`,
      live(48_780),
    ],
    [
      "of addresses that belong to nothing",
      `#EXTM3U\n#EXTINF:2,\n${many("a\n")}#EXT-X-ENDLIST`,
      { kind: "media", live: false, duration_s: 2, drm: null },
    ],
    [
      "of 16 MB of unknown tags",
      MASTER + many("#EXTA\n"),
      { kind: "master", variants: [variant], children: [variant.url], drm: null },
    ],
  ])("%s is read in time", async (_what, text, expected) => {
    expect(await within(() => parseHls(text, URL))).toEqual(expected as never);
  });

  test("with the most variants and renditions that may be compared is read in time", async () => {
    const renditions = '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="a",URI="b"\n'.repeat(650);
    const variants = '#EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO="a"\na.m3u8\n'.repeat(350);
    const found = await within(() => parseHls(`#EXTM3U\n${renditions}${variants}`, URL));
    expect(found).toMatchObject({ kind: "master" });
  });
});

describe("a playlist of a careless server", () => {
  const one = (tags: string) => parseHls(`#EXTM3U\n${tags}\n#EXTINF:2,\na.ts\n`, URL);
  test("has titles that are not ASCII, a byte order mark, and line ends of Windows", () => {
    const text =
      "\uFEFF#EXTM3U\r\n#EXTINF:2.5,第1段\r\na.ts\r\n#EXTINF:1.5,é\r\nb.ts\r\n#EXT-X-ENDLIST\r\n";
    expect(parseHls(text, URL)).toEqual({ kind: "media", live: false, duration_s: 4, drm: null });
  });

  test("has a trailing comma, a short IV or a key without an address", () => {
    expect(one("#EXT-X-KEY:METHOD=AES-128,URI=k,IV=0x1,")).toMatchObject({ drm: null });
    expect(one("#EXT-X-KEY:junk")).toMatchObject({ drm: null });
    const widevine = "urn:uuid:edef8ba9-79d6-4ace-a3c8-27dcd51d21ed";
    expect(one(`#EXT-X-KEY:METHOD=SAMPLE-AES,KEYFORMAT="${widevine}"`)).toMatchObject({
      drm: "Widevine",
    });
  });

  test("has a master that names its licence, renditions of one name, and a variant without an address", () => {
    const text = [
      "#EXTM3U",
      '#EXT-X-SESSION-KEY:METHOD=SAMPLE-AES,URI="skd://k",KEYFORMAT="com.apple.streamingkeydelivery"',
      '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="x",URI="1.m3u8"',
      '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="x",URI="2.m3u8"',
      '#EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO="a"',
      '#EXT-X-STREAM-INF:BANDWIDTH=2,AUDIO="a"',
      "b.m3u8",
    ].join("\n");
    expect(parseHls(text, URL)).toMatchObject({
      drm: "FairPlay",
      variants: [{ url: "http://cdn.test/v/b.m3u8", audio_url: "http://cdn.test/v/1.m3u8" }],
      children: ["b", "1", "2"].map((name) => `http://cdn.test/v/${name}.m3u8`),
    });
    expect(parseHls("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1", URL)).toMatchObject({
      kind: "master",
      variants: [],
    });
  });
});
