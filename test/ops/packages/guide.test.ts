import { afterAll, beforeAll, expect, test } from "bun:test";
import { seededBlocks } from "#test/support/rigs/seeded-blocks.ts";
import { type DebianRoot, makeDebianRoot } from "#test/support/servers/debian-root.ts";

/** What the guide has a reader install from Debian, pasted on a Debian that has nothing else. */

const MINUTES = 60_000;
let debian: DebianRoot;

beforeAll(async () => {
  debian = await makeDebianRoot();
  // A machine of a reader has the mirror's lists and sudo.
  await debian.demand("apt-get update -qq && apt-get install -qq sudo >/dev/null");
}, 20 * MINUTES);
afterAll(() => debian?.remove(), 5 * MINUTES);

test(
  "ffmpeg and yt-dlp, which make videos of streams, are installed by the command of the page about videos",
  async () => {
    const [block = ""] = seededBlocks("how-to/video.md#videos", 1);
    for (const program of ["ffmpeg", "yt-dlp"])
      expect((await debian.run(`command -v ${program}`)).code).not.toBe(0);
    // apt asks whether it may go on.
    const said = await debian.demand(`yes | {\n${block}\n}`);
    expect(said).toContain("Do you want to continue? [Y/n]");
    expect(await debian.demand("ffmpeg -version")).toMatch(/^ffmpeg version \d/);
    expect(await debian.demand("yt-dlp --version")).toMatch(/^\d{4}\.\d\d\.\d\d/);
  },
  30 * MINUTES,
);
