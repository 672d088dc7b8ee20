import type { VideoTools } from "./types.ts";

/** What a person is told who asks for videos on a machine without these. */
export const INSTALL_TOOLS = "install yt-dlp or ffmpeg: apt-get install ffmpeg yt-dlp";

/** Looks the programs up in `path`, or in PATH. yt-dlp joins with ffmpeg, so that one is needed either way. */
export const findVideoTools = (path = process.env.PATH ?? ""): VideoTools => ({
  yt_dlp: Bun.which("yt-dlp", { PATH: path }),
  ffmpeg: Bun.which("ffmpeg", { PATH: path }),
});
