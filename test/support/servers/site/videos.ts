import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Handler, type SiteServer, startServer } from "./server.ts";

/** Length of every fixture video. */
export const VIDEO_SECONDS = 6;
export const BEST_HEIGHT = 180;

const SOURCE = [
  ...["-f", "lavfi", "-i", `testsrc2=s=320x${BEST_HEIGHT}:r=25:d=${VIDEO_SECONDS}`],
  ...["-f", "lavfi", "-i", `sine=frequency=440:duration=${VIDEO_SECONDS}`],
];
const CODECS = [
  ...["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "50"],
  ...["-c:a", "aac", "-b:a", "64k"],
];
/** Two pictures and one sound apart. */
const LADDER = ["-map", "0:v", "-map", "0:v", "-map", "1:a", "-filter:v:0", "scale=160:90"];
const HLS = [
  ...["-b:v:0", "100k", "-b:v:1", "400k", "-f", "hls", "-hls_time", "2"],
  ...["-hls_playlist_type", "vod", "-master_pl_name", "master.m3u8"],
  ...["-var_stream_map", "v:0,agroup:sound v:1,agroup:sound a:0,agroup:sound", "hls-%v.m3u8"],
];
const DASH = ["-b:v:0", "100k", "-b:v:1", "400k", "-seg_duration", "2", "-f", "dash"];
const STREAMS = ["-adaptation_sets", "id=0,streams=v id=1,streams=a", "manifest.mpd"];

async function ffmpeg(cwd: string, args: string[]): Promise<void> {
  const argv = ["ffmpeg", "-v", "error", "-y", ...args];
  const child = Bun.spawn(argv, { cwd, stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  if ((await child.exited) !== 0)
    throw new Error(`ffmpeg failed: ${await new Response(child.stderr).text()}`);
}

/** Every file of an HLS ladder and a DASH one, by name; made once per machine. */
export async function makeStreams(): Promise<Map<string, Uint8Array>> {
  const version = Bun.hash(JSON.stringify([SOURCE, CODECS, LADDER, HLS, DASH])).toString(36);
  const dir = join(tmpdir(), `flotilla-fixture-streams-${version}`);
  if (!existsSync(dir)) {
    await mkdir(tmpdir(), { recursive: true });
    const making = await mkdtemp(join(tmpdir(), "flotilla-streams-"));
    await ffmpeg(making, [...SOURCE, ...LADDER, ...CODECS, ...HLS]);
    await ffmpeg(making, [...SOURCE, ...LADDER, ...CODECS, ...DASH, ...STREAMS]);
    await ffmpeg(making, [...SOURCE, ...CODECS, "-movflags", "+faststart", "plain.mp4"]);
    // Another run may have been faster.
    await rename(making, dir).catch(() => {});
  }
  const names = await readdir(dir);
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(dir, name))] as const)),
  );
}

const TYPES: Record<string, string> = {
  m3u8: "application/vnd.apple.mpegurl",
  mpd: "application/dash+xml",
  ts: "video/mp2t",
  m4s: "video/iso.segment",
  mp4: "video/mp4",
};

export interface VideoSite {
  /** A page whose players are two frames deep, each on an origin of its own. */
  url: string;
  media: SiteServer;
  /** The page with this markup in the innermost frame. */
  page(path: string, inner: string): string;
  /** The same below a page of another site, so that the frames have a process of their own. */
  embed(path: string, inner: string): string;
  /** Requests for media that came without the cookie or with a foreign Referer. */
  readonly turned_away: string[];
  stop(): Promise<void>;
}

/** Media is given out only to who has the frame's cookie and comes from it. */
export async function startVideoSite(): Promise<VideoSite> {
  const files = await makeStreams();
  const [main, middle, media, stranger] = await Promise.all([
    startServer("www.film.localhost"),
    startServer("player.film.localhost"),
    startServer("media.film.localhost"),
    startServer("127.0.0.1"),
  ]);
  const turned_away: string[] = [];
  const guarded =
    (serve: Handler): Handler =>
    (req, res, url) => {
      const from = req.headers.referer ?? "";
      if (from.startsWith(`${media.origin}/`) && req.headers.cookie?.includes("ticket=a%20b"))
        return serve(req, res, url);
      turned_away.push(url.pathname);
      res.writeHead(403, { "content-type": "text/plain" });
      res.end("no ticket");
    };
  const file = (name: string, bytes: Uint8Array) =>
    media.on(
      `/media/${name}`,
      guarded((_req, res) => {
        const type = TYPES[name.split(".").at(-1) ?? ""] ?? "application/octet-stream";
        res.writeHead(200, { "content-type": type, "content-length": bytes.length });
        res.end(bytes);
      }),
    );
  for (const [name, bytes] of files) file(name, bytes);
  const html =
    (body: string, headers: Record<string, string> = {}): Handler =>
    (_req, res) => {
      res.writeHead(200, { "content-type": "text/html", ...headers });
      res.end(body);
    };
  const page = (path: string, inner: string): string => {
    const cookie = "ticket=a%20b; Path=/media; HttpOnly";
    media.on(path, html(inner, { "set-cookie": cookie, "referrer-policy": "unsafe-url" }));
    middle.on(path, html(`<iframe src="${media.origin}${path}"></iframe>`));
    const top = `<title>My film: 1/2</title><iframe src="${middle.origin}${path}"></iframe>`;
    for (const server of [main, stranger]) server.on(path, html(top));
    return main.origin + path;
  };
  const load = (...names: string[]) =>
    `<script>for (const name of ${JSON.stringify(names)}) fetch("/media/" + name)</script>`;
  return {
    // A variant is asked for beside its master, as players do.
    url: page("/film", load("master.m3u8", "hls-0.m3u8", "manifest.mpd")),
    media,
    page,
    embed: (path, inner) => stranger.origin + new URL(page(path, inner)).pathname,
    turned_away,
    stop: async () => {
      await Promise.all([main, middle, media, stranger].map((server) => server.stop()));
    },
  };
}
