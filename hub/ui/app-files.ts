import { embeddedFile } from "#hub/platform/http/embedded-file.ts";
import { isCompiled } from "#shared/protocol/version.ts";
import { type AppBundle, bundleApp, unpackApp } from "./bundle.ts";

/** Name under which `scripts/build.ts` embeds the app. */
export const APP_NAME = "ui-app.gz";

let made: Promise<AppBundle> | undefined;

async function openApp(): Promise<AppBundle> {
  if (!isCompiled()) return bundleApp();
  const file = embeddedFile(APP_NAME);
  if (file === undefined) throw new Error("the UI is not part of this binary");
  return unpackApp(new Uint8Array(await file.arrayBuffer()));
}

/** The app as it is served: from the binary, or bundled at the first request when run from source. */
export function appFiles(): Promise<AppBundle> {
  made ??= openApp().catch((err) => {
    made = undefined;
    throw err;
  });
  return made;
}
