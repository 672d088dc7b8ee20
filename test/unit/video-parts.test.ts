import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import type { TraceEntry } from "#worker/browser/record/trace-entry.ts";
import { findCandidates } from "#worker/browser/video/candidates.ts";
import {
  type BrowserCookie,
  cookieHeader,
  cookiesForFfmpeg,
  cookiesText,
} from "#worker/browser/video/cookies.ts";
import { isoSeconds, parseDash } from "#worker/browser/video/dash.ts";
import { openVideoGate, type VideoGate } from "#worker/browser/video/gate.ts";
import { parseHls } from "#worker/browser/video/hls.ts";
import { identityOf } from "#worker/browser/video/inspect.ts";
import { request } from "#worker/browser/video/request.ts";
import { createJudge } from "#worker/egress/judge.ts";

const entry = (url: string, mime: string, more: Partial<TraceEntry> = {}): TraceEntry =>
  ({
    url,
    method: "GET",
    type: "Fetch",
    page_url: "http://site.test/page",
    request_headers: {},
    redirect_url: "",
    response: { status: 200, mime },
    ...more,
  }) as TraceEntry;

describe("manifests", () => {
  const BASE = "http://cdn.test/v/master.m3u8?t=1";
  test("the best variant of a master comes first, with the sound of its group; every playlist it names is a part", () => {
    const playlist = parseHls(
      [
        "#EXTM3U",
        '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="x",URI="a1.m3u8"',
        '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="y, z",DEFAULT=YES,URI="a2.m3u8"',
        '#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="s",URI="s.m3u8"',
        '#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1,URI="i.m3u8"',
        '#EXT-X-STREAM-INF:BANDWIDTH=9000,RESOLUTION=320x180,AUDIO="a"',
        "low.m3u8",
        "",
        '#EXT-X-STREAM-INF:BANDWIDTH=5000,RESOLUTION=1280x720,AUDIO="a"',
        "# a comment",
        "/high.m3u8",
      ].join("\r\n"),
      BASE,
    );
    if (playlist?.kind !== "master") throw new Error("no master");
    expect(playlist.variants[0]).toEqual({
      url: "http://cdn.test/high.m3u8",
      bandwidth: 5000,
      height: 720,
      audio_url: "http://cdn.test/v/a2.m3u8",
    });
    const names = playlist.children.map((url) => url.split("/").at(-1)).sort();
    expect(names).toEqual(["a1.m3u8", "a2.m3u8", "high.m3u8", "i.m3u8", "low.m3u8", "s.m3u8"]);
    expect(playlist.drm).toBeNull();
  });

  const media = (key: string, end = "#EXT-X-ENDLIST") =>
    parseHls(`#EXTM3U\n${key}\n#EXTINF:2.5,\na.ts\n#EXTINF:1.5,title\nb.ts\n${end}`, BASE);
  test("a media playlist tells its length, whether it is live, and DRM but not plain encryption", () => {
    expect(media("")).toEqual({ kind: "media", live: false, duration_s: 4, drm: null });
    expect(media("", "")).toMatchObject({ live: true });
    expect(media('#EXT-X-KEY:METHOD=AES-128,URI="k"')).toMatchObject({ drm: null });
    expect(media("#EXT-X-KEY:METHOD=NONE")).toMatchObject({ drm: null });
    const sample = '#EXT-X-KEY:METHOD=SAMPLE-AES,URI="skd://k"';
    expect(media(sample)).toMatchObject({ drm: "DRM" });
    expect(media(`${sample},KEYFORMAT="com.apple.streamingkeydelivery"`)).toMatchObject({
      drm: "FairPlay",
    });
    expect(
      media('#EXT-X-KEY:METHOD=AES-128,KEYFORMAT="urn:uuid:edef8ba9-79d6-4ace-a3c8-27dcd51d21ed"'),
    ).toMatchObject({ drm: "Widevine" });
    expect(parseHls("<html>", BASE)).toBeNull();
  });

  test("a DASH manifest tells its length, whether it is live, and DRM", () => {
    expect(isoSeconds("PT1H2M3.5S")).toBe(3723.5);
    expect(isoSeconds("P1DT1S")).toBe(86_401);
    expect(isoSeconds("soon")).toBeNull();
    const static_mpd =
      '<?xml version="1.0"?><MPD type="static" mediaPresentationDuration="PT6.0S"/>';
    expect(parseDash(static_mpd)).toEqual({
      live: false,
      duration_s: 6,
      drm: null,
    });
    expect(parseDash('<d:MPD type="dynamic"/>')).toMatchObject({
      live: true,
      duration_s: null,
    });
    const drm =
      '<MPD><ContentProtection schemeIdUri="urn:uuid:9A04F079-9840-4286-AB92-E65BE0885F95"/></MPD>';
    expect(parseDash(drm)).toMatchObject({ drm: "PlayReady" });
    expect(parseDash("<MPD><!-- <ContentProtection/> --></MPD>")).toMatchObject({
      drm: null,
    });
    expect(parseDash("nothing")).toBeNull();
    expect(parseDash("<!doctype html><html><p>MPD</html>")).toBeNull();
  });
});

describe("what is a video in the trace", () => {
  test("manifests by type or name, files that an element played and that are not stored whole; each URL once", () => {
    const found = findCandidates(
      [
        entry("http://a/x", "application/vnd.apple.mpegurl"),
        entry("http://a/x", "application/vnd.apple.mpegurl"),
        entry("http://a/y.m3u8?token=1", "text/plain"),
        entry("http://a/z.mpd", "application/octet-stream"),
        entry("http://a/gone.mpd", "application/dash+xml", {
          response: { status: 404, mime: "application/dash+xml" } as TraceEntry["response"],
        }),
        entry("http://a/segment.mp4", "video/mp4"),
        entry("http://a/played.mp4", "video/mp4", { type: "Media" }),
        entry("http://a/whole.mp4", "video/mp4", { type: "Media" }),
        entry("http://a/sound.mp3", "audio/mpeg", { type: "Media" }),
        entry("http://a/post.m3u8", "text/plain", { method: "POST" }),
      ],
      (url) => url.endsWith("/whole.mp4"),
    );
    expect(found.map(({ kind, url }) => [kind, url])).toEqual([
      ["hls", "http://a/x"],
      ["hls", "http://a/y.m3u8?token=1"],
      ["dash", "http://a/z.mpd"],
      ["file", "http://a/played.mp4"],
    ]);
  });

  test("a site is told what the browser told it; a header with a line break is not taken over", () => {
    const of = (request_headers: Record<string, string>) =>
      identityOf(
        { kind: "hls", url: "http://a/x", entry: entry("http://a/x", "", { request_headers }) },
        "UA",
      );
    expect(of({ Referer: "http://b/p", origin: "http://b", "User-Agent": "U" })).toEqual({
      user_agent: "U",
      referer: "http://b/p",
      origin: "http://b",
    });
    expect(of({ Referer: "x\r\nEvil: 1" })).toEqual({
      user_agent: "UA",
      referer: "http://site.test/",
      origin: null,
    });
  });
});

describe("cookies", () => {
  const cookie = (name: string, more: Partial<BrowserCookie> = {}): BrowserCookie =>
    ({
      name,
      value: "v",
      domain: "a.test",
      path: "/",
      expires: -1,
      session: true,
      httpOnly: false,
      secure: false,
      ...more,
    }) as BrowserCookie;

  test("cookies.txt has a line per cookie, and none for one that would break out of its line", () => {
    const text = cookiesText([
      cookie("a"),
      cookie("b", {
        domain: ".a.test",
        httpOnly: true,
        secure: true,
        session: false,
        expires: 9.7,
      }),
      cookie("evil", { value: "x\ny" }),
    ]);
    expect(text).toBe(
      "# Netscape HTTP Cookie File\n" +
        "a.test\tFALSE\t/\tFALSE\t0\ta\tv\n" +
        "#HttpOnly_.a.test\tTRUE\t/\tTRUE\t9\tb\tv\n",
    );
  });

  test("a request gets the cookies of its host, path and scheme, and no others", () => {
    const jar = [
      cookie("host"),
      cookie("domain", { domain: ".a.test" }),
      cookie("secure", { secure: true }),
      cookie("path", { path: "/media" }),
      cookie("other", { domain: "b.test" }),
    ];
    expect(cookieHeader(jar, "http://a.test/media/x")).toBe("host=v; domain=v; path=v");
    expect(cookieHeader(jar, "https://a.test/mediator")).toBe("host=v; domain=v; secure=v");
    expect(cookieHeader(jar, "http://sub.a.test/")).toBe("domain=v");
    expect(cookieHeader(jar, "http://nota.test/")).toBe("");
    expect(cookiesForFfmpeg([cookie("path", { path: "/m" })], ["http://a.test:81/m/x"])).toBe(
      "path=v; domain=a.test:81; path=http://a.test:81/m",
    );
  });
});

describe("the gate of the downloaders", () => {
  let server: ReturnType<typeof Bun.serve>;
  let gate: VideoGate;
  let too_much = 0;
  beforeAll(async () => {
    server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (req) => {
        const { pathname } = new URL(req.url);
        if (pathname === "/away")
          return new Response(null, {
            status: 302,
            headers: { location: "http://169.254.169.254/" },
          });
        if (pathname === "/big") return new Response(new Uint8Array(100_000));
        return Response.json({ path: pathname, headers: [...req.headers.keys()] });
      },
    });
    gate = openVideoGate({
      judge: createJudge({ navigation_block: [], own_ports: [] }),
      resolve: async () => ["169.254.1.1"],
      max_bytes: 50_000,
      upstream: null,
      onTooMuch: () => {
        too_much += 1;
      },
    });
  });
  afterAll(async () => {
    gate.close();
    await server.stop(true);
  });
  const deps = () => ({ proxy: gate.url, cookies: [], signal: new AbortController().signal });
  const who = { user_agent: "UA", referer: "http://r/", origin: null };
  const ask = (text: string): Promise<string> =>
    new Promise((done) => {
      const socket = connect(Number(new URL(gate.url).port), "127.0.0.1");
      let all = "";
      socket.on("data", (chunk) => {
        all += chunk;
      });
      socket.on("close", () => done(all));
      socket.write(text);
    });

  test("passes a request on in its own form, without what was meant for the proxy", async () => {
    const answer = await ask(
      `GET http://localhost:${server.port}/x HTTP/1.1\r\nHost: localhost:${server.port}\r\n` +
        "Proxy-Connection: keep-alive\r\nX-Own: 1\r\n\r\n",
    );
    expect(answer).toContain('"path":"/x"');
    expect(answer).toContain('"x-own"');
    expect(answer).not.toContain("proxy-connection");
  });

  test("opens tunnels", async () => {
    const answer = await ask(
      `CONNECT 127.0.0.1:${server.port} HTTP/1.1\r\n\r\nGET /tunnel HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    );
    expect(answer).toStartWith("HTTP/1.1 200 Connection established");
    expect(answer).toContain('"path":"/tunnel"');
  });

  test("refuses what the guard refuses, redirects included, and says so", async () => {
    expect(await ask("CONNECT 169.254.169.254:443 HTTP/1.1\r\n\r\n")).toStartWith("HTTP/1.1 403");
    expect(await ask("GET http://metadata.test/ HTTP/1.1\r\n\r\n")).toStartWith("HTTP/1.1 403");
    const away = request(deps(), `http://127.0.0.1:${server.port}/away`, who);
    expect(await away.catch((err) => err.message)).toBe("the server answered 403");
    expect(gate.refused).toContain(
      "169.254.169.254:80: 169.254.169.254 is a cloud metadata address",
    );
  });

  test("is no web server, no proxy of other schemes, and counts what comes in", async () => {
    expect(await ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n")).toStartWith("HTTP/1.1 400");
    expect(await ask("GET file:///etc/passwd HTTP/1.1\r\n\r\n")).toStartWith("HTTP/1.1 400");
    expect(await ask("nonsense\r\n\r\n")).toStartWith("HTTP/1.1 400");
    gate.restart();
    const big = await request(deps(), `http://127.0.0.1:${server.port}/big`, who);
    expect((await big.arrayBuffer()).byteLength).toBe(100_000);
    expect(gate.bytes).toBeGreaterThan(100_000);
    expect(too_much).toBe(1);
  });
});
