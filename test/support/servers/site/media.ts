import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A 10 MB MP4 with its index at the end, so that players jump, and a small Ogg. Made with ffmpeg. */
export async function makeMedia(): Promise<{ mp4: Uint8Array; ogg: Uint8Array }> {
  const dir = await mkdtemp(join(tmpdir(), "flotilla-media-"));
  try {
    const mp4 = join(dir, "video.mp4");
    const ogg = join(dir, "sound.ogg");
    // Constant rate with filler: the size is known, whatever the picture.
    await ffmpeg(
      [
        "-f",
        "lavfi",
        "-i",
        "testsrc2=s=640x360:r=25:d=20",
        "-c:v",
        "libx264",
        "-preset",
        "ultrafast",
      ],
      ["-pix_fmt", "yuv420p", "-b:v", "4M", "-maxrate", "4M", "-bufsize", "4M"],
      ["-x264-params", "nal-hrd=cbr:force-cfr=1", mp4],
    );
    await ffmpeg(["-f", "lavfi", "-i", "sine=frequency=440:duration=20", "-c:a", "libvorbis", ogg]);
    return { mp4: await readFile(mp4), ogg: await readFile(ogg) };
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function ffmpeg(...args: string[][]): Promise<void> {
  const child = Bun.spawn(["ffmpeg", "-v", "error", "-bitexact", "-y", ...args.flat()], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  if ((await child.exited) !== 0)
    throw new Error(`ffmpeg failed: ${await new Response(child.stderr).text()}`);
}
