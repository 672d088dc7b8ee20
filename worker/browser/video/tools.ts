import type { VideoTools } from "./video-settings.ts";

/** Advice for a person who requests videos on a machine without these programs. */
export const INSTALL_TOOLS = "install yt-dlp or ffmpeg: apt-get install ffmpeg yt-dlp";

/** Looks the programs up in `path`. yt-dlp joins video and audio with ffmpeg. */
export const findVideoTools = (path = "/usr/local/bin:/usr/bin:/bin"): VideoTools => ({
  path,
  yt_dlp: Bun.which("yt-dlp", { PATH: path }),
  ffmpeg: Bun.which("ffmpeg", { PATH: path }),
});
