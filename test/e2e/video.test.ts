import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { $ } from "bun";
import type { StoredAsset } from "#test/support/rigs/fetch-rig.ts";
import { type JobLane, openJobLane } from "#test/support/rigs/lane-jobs.ts";
import {
  BEST_HEIGHT,
  makeStreams,
  startVideoSite,
  VIDEO_SECONDS,
  type VideoSite,
} from "#test/support/servers/site/videos.ts";

const SLOW_MS = 180_000;

let site: VideoSite;
let lane: JobLane;
let programs: string;
beforeAll(async () => {
  programs = mkdtempSync(join(tmpdir(), "flotilla-programs-"));
  // The downloaders run as the account that Chromium runs as.
  chmodSync(programs, 0o711);
  [site, lane] = await Promise.all([startVideoSite(), openJobLane()]);
}, 180_000);
afterAll(async () => {
  await lane.close();
  await site.stop();
  rmSync(programs, { recursive: true, force: true });
});

/** A PATH that holds these programs and no others. */
const pathWith = (...names: string[]): string => {
  const dir = join(programs, names.join("-") || "none");
  mkdirSync(dir, { recursive: true });
  for (const name of names) symlinkSync(Bun.which(name) ?? name, join(dir, name));
  return dir;
};

interface Probe {
  duration: number;
  kinds: string[];
  height: number;
}

async function probe(path: string): Promise<Probe> {
  const told = await $`ffprobe -v error -show_format -show_streams -of json ${path}`.json();
  const streams = told.streams as { codec_type: string; height?: number }[];
  return {
    duration: Number(told.format.duration),
    kinds: streams.map((s) => s.codec_type).sort(),
    height: streams.find((s) => s.height)?.height ?? 0,
  };
}

const options = { download_video: true, idle_seconds: 0.5, post_click_seconds: 0.5 };

/** Runs the job and probes every file that was fetched again. */
async function runVideos(url: string, program_path?: string) {
  const probes: (Probe & { asset: StoredAsset })[] = [];
  const result = await lane.run({
    url,
    options,
    settings: { program_path },
    onAsset: async (asset, path) => {
      if (asset.refetched) probes.push({ asset, ...(await probe(path)) });
    },
  });
  return { ...result, probes, story: result.log.join("\n") };
}

for (const [tool, names] of [
  ["yt-dlp and ffmpeg", ["yt-dlp", "ffmpeg"]],
  ["ffmpeg alone", ["ffmpeg"]],
] as const)
  test(
    `download_video joins HLS and DASH of nested cross-origin frames with ${tool}, with the browser's cookies and Referer (rules/capture#videos)`,
    async () => {
      site.turned_away.length = 0;
      const { outcome, probes, story, assets } = await runVideos(site.url, pathWith(...names));
      expect(outcome).toMatchObject({ status: "completed", error: null });
      expect(probes.map(({ asset }) => asset.source_url).sort()).toEqual([
        `${site.media.origin}/media/manifest.mpd`,
        `${site.media.origin}/media/master.m3u8`,
      ]);
      for (const { duration, kinds, height, asset } of probes) {
        expect(Math.abs(duration - VIDEO_SECONDS)).toBeLessThanOrEqual(0.1);
        expect(kinds).toEqual(["audio", "video"]);
        expect(height).toBe(BEST_HEIGHT);
        expect(asset).toMatchObject({ kind: "video", mime: "video/mp4", refetched: true });
        expect(asset.name).toStartWith("My film_ 1_2");
      }
      // What the tools fetched is not what the browser received.
      const seen = assets.filter((a) => !a.refetched).length;
      expect(outcome.capture).toMatchObject({ seen, captured: seen, lost: 0 });
      expect(site.turned_away).toEqual([]);
      expect(story).toContain("info video: My film_ 1_2.mp4: ");
    },
    SLOW_MS,
  );

test(
  "download_video without yt-dlp and ffmpeg fails the job and names what to install; what was captured is kept",
  async () => {
    const { outcome, assets } = await runVideos(site.url, pathWith());
    expect(outcome.status).toBe("failed");
    expect(outcome.error).toContain("install yt-dlp or ffmpeg: apt-get install ffmpeg yt-dlp");
    expect(assets.some((a) => a.source_url.endsWith("/media/master.m3u8"))).toBe(true);
  },
  SLOW_MS,
);

test(
  "download_video: DRM and live streams are told, not faked; a file stored whole is not fetched again",
  async () => {
    const text = (name: string, body: string) =>
      site.media.on(`/media/${name}`, (_req, res) => {
        res.writeHead(200, { "content-type": "application/vnd.apple.mpegurl" });
        res.end(body);
      });
    const media = (head: string, end = "#EXT-X-ENDLIST") =>
      `#EXTM3U\n${head}\n#EXTINF:2,\nhls-20.ts\n${end}\n`;
    text("drm.m3u8", "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\ndrm-1.m3u8\n");
    text(
      "drm-1.m3u8",
      media(
        '#EXT-X-KEY:METHOD=SAMPLE-AES,URI="skd://x",KEYFORMAT="com.apple.streamingkeydelivery"',
      ),
    );
    text("live.m3u8", media("", ""));
    site.media.on("/media/drm.mpd", (_req, res) => {
      res.writeHead(200, { "content-type": "application/dash+xml" });
      res.end(
        '<MPD mediaPresentationDuration="PT2S"><Period><AdaptationSet><ContentProtection ' +
          'schemeIdUri="urn:uuid:EDEF8BA9-79D6-4ACE-A3C8-27DCD51D21ED"/></AdaptationSet></Period></MPD>',
      );
    });
    const bytes = (await makeStreams()).get("plain.mp4") ?? new Uint8Array();
    site.media.body("/media/open.mp4", { mime: "video/mp4", bytes, ranges: true });
    const url = site.embed(
      "/protected",
      `<video src="/media/open.mp4" preload="none"></video><script>
        for (const name of ["drm.m3u8", "drm.mpd", "live.m3u8"]) fetch("/media/" + name)</script>`,
    );
    const { outcome, assets, story } = await runVideos(url);
    expect(outcome).toMatchObject({ status: "completed", error: null });
    expect(story).toContain("/media/drm.m3u8 is protected by DRM (FairPlay): not downloaded");
    expect(story).toContain("/media/drm.mpd is protected by DRM (Widevine): not downloaded");
    expect(story).toContain("/media/live.m3u8 is a live stream: not downloaded");
    expect(assets.filter((a) => a.refetched)).toEqual([]);
    // The player waited for a click; pressing play made it ask.
    expect(story).toContain("pressed play on 1 players");
    const plain = assets.filter((a) => a.source_url.endsWith("/media/open.mp4"));
    expect(plain).toMatchObject([{ partial: false, refetched: false, size: bytes.length }]);
  },
  SLOW_MS,
);

test(
  "download_video goes through the navigation guard: redirects and segments of refused addresses are not fetched",
  async () => {
    const refused = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("x") });
    try {
      const playlist = `#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n${refused.url}seg.ts\n#EXT-X-ENDLIST\n`;
      site.media.on("/media/own.m3u8", (_req, res) => {
        res.writeHead(200, { "content-type": "application/x-mpegURL" });
        res.end(playlist);
      });
      const url = site.page("/own", "<script>fetch('/media/own.m3u8')</script>");
      const { outcome, log } = await lane.run({
        url,
        options,
        refuses: { own_ports: [refused.port ?? 0] },
      });
      expect(outcome.status).toBe("failed");
      expect(outcome.error).toContain("no video was downloaded");
      expect(log.join("\n")).toContain(
        `refused to connect to 127.0.0.1:${refused.port}: 127.0.0.1:${refused.port} is a port of this worker's own lanes`,
      );
    } finally {
      await refused.stop(true);
    }
  },
  SLOW_MS,
);

test(
  "a job that is cancelled in the middle of a download leaves no process and no file",
  async () => {
    const asked = Promise.withResolvers<void>();
    site.media.on("/media/slow.ts", () => asked.resolve());
    site.media.on("/media/slow.m3u8", (_req, res) => {
      res.writeHead(200, { "content-type": "application/x-mpegURL" });
      res.end("#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nslow.ts\n#EXT-X-ENDLIST\n");
    });
    const url = site.page("/slow", "<script>fetch('/media/slow.m3u8')</script>");
    const cancel = new AbortController();
    let root = "";
    const job = lane.run({
      url,
      options,
      signal: cancel.signal,
      onBrowser: ({ dirs }) => {
        root = dirs.root;
      },
    });
    await asked.promise;
    expect(readdirSync(root)).toContain("video-1");
    const left = async () =>
      (await $`ps -eo args`.text()).split("\n").filter((line) => line.includes("slow.m3u8"));
    expect((await left()).length).toBeGreaterThan(0);
    cancel.abort(new Error("cancelled"));
    const { outcome } = await job;
    expect(outcome).toMatchObject({
      status: "failed",
      error: "the job was cancelled while it ran",
    });
    expect(await left()).toEqual([]);
  },
  SLOW_MS,
);
