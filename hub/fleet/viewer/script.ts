import { createHash } from "node:crypto";
import { join } from "node:path";

/** Replaced by `scripts/build.ts` in the compiled binary; absent when run from source. */
declare const FLOTILLA_VIEWER_SCRIPT: string | undefined;

const NOTICE = "/* Holds noVNC, MPL-2.0, https://github.com/novnc/noVNC */\n";

/** The page's script and noVNC in one file, so that a viewer is two requests. Needs the sources. */
export async function bundleViewerScript(): Promise<string> {
  const built = await Bun.build({
    entrypoints: [join(import.meta.dir, "client/viewer.js")],
    target: "browser",
    format: "esm",
    minify: true,
  });
  const [file] = built.outputs;
  if (!built.success || !file) throw new AggregateError(built.logs, "viewer script not built");
  return NOTICE + (await file.text());
}

export interface ViewerScript {
  text: string;
  etag: string;
}

let made: Promise<ViewerScript> | undefined;

/** The script as it is served: baked in, or bundled at the first request when run from source. */
export function viewerScript(): Promise<ViewerScript> {
  made ??= (async () => {
    const text =
      typeof FLOTILLA_VIEWER_SCRIPT === "string"
        ? FLOTILLA_VIEWER_SCRIPT
        : await bundleViewerScript();
    const etag = `"${createHash("sha256").update(text).digest("hex").slice(0, 16)}"`;
    return { text, etag };
  })();
  return made;
}
