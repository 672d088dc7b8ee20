import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Protocol } from "devtools-protocol";
import { COOKIES_FILE, keepsFile, LOCAL_STATE } from "#shared/archive/profile-shape.ts";
import type { ArchiveFile } from "#shared/archive/read-tar.ts";
import { chunksOf, streamOf } from "#shared/archive/streams.ts";
import { writeTarGz } from "#shared/archive/write-tar.ts";
import { FlotillaError } from "#shared/client/errors.ts";
import { type HubFiles, hubFilesHttp } from "#worker/hub-files.ts";
import type { LaneBrowser } from "../lanes/lane-browser.ts";
import type { LaneHold } from "../lanes/pool.ts";
import { ProfileError } from "./cache.ts";
import { readCookies, writeCookies } from "./cookies.ts";

export interface SaveProfileInput {
  session_id: string;
  name: string;
  hold: LaneHold;
  browser: LaneBrowser;
  hub: HubFiles;
  /** How long the hub may take to store it. */
  timeout_ms: number;
  signal: AbortSignal;
}

/**
 * Stores a session's profile on the hub (rules/profiles#save-a-session-as-a-profile): the browser is closed cleanly, its
 * directory sent, and the browser started again with the same tabs and all cookies, so that the person can go on.
 * @returns the browser that runs now. It also runs when the profile was refused; then `error` is set.
 */
export async function saveProfile(
  input: SaveProfileInput,
): Promise<{ browser: LaneBrowser; error: Error | null }> {
  const { browser, hold } = input;
  const cookies = await readCookies(browser);
  const tabs = await openTabs(browser);
  let error: Error | null = null;
  const next = await hold.restart(async (user_data) => {
    try {
      await send(input, user_data, cookies);
    } catch (err) {
      error = err instanceof Error ? err : new Error(String(err));
    }
  });
  await writeCookies(next, cookies);
  await reopenTabs(next, tabs);
  return { browser: next, error };
}

async function send(
  { session_id, name, hub, timeout_ms, signal }: SaveProfileInput,
  user_data: string,
  cookies: Protocol.Network.Cookie[],
): Promise<void> {
  const http = await hubFilesHttp(hub);
  try {
    await http.call("PUT /workers/{worker_id}/sessions/{session_id}/profile/{name}", {
      params: { worker_id: hub.worker_id, session_id, name },
      headers: { "content-type": "application/gzip" },
      body: streamOf(writeTarGz(profileFiles(user_data, cookies))),
      timeout_ms,
      signal,
    });
  } catch (err) {
    if (!(err instanceof FlotillaError) || err.status === 0) throw err;
    const why = `${err.status} ${err.message.slice(0, 300)}`;
    throw new ProfileError(`the hub did not take profile ${name}: ${why}`);
  }
}

/** The part of a user-data directory that a profile keeps, and every cookie of the closed browser. */
async function* profileFiles(
  user_data: string,
  cookies: Protocol.Network.Cookie[],
): AsyncGenerator<ArchiveFile> {
  const text = new TextEncoder().encode(JSON.stringify(cookies));
  yield { path: ["Default", COOKIES_FILE], size: text.byteLength, body: once(text) };
  yield* filesBelow(user_data, [], (path) =>
    path[0] === "Default" ? keepsFile(path.slice(1)) : path.length === 1 && isRootFile(path[0]),
  );
}

/** `Last Version` tells the hub which browser the profile comes from. */
const isRootFile = (name: string | undefined) => name === LOCAL_STATE || name === "Last Version";

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Regular files below `root/path`, without following links. */
async function* filesBelow(
  root: string,
  path: string[],
  keeps: (path: string[]) => boolean,
): AsyncGenerator<ArchiveFile> {
  const entries = await readdir(join(root, ...path), { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const below = [...path, entry.name];
    if (entry.isDirectory()) {
      // A directory that is left out may hold a hundred thousand files.
      if (path.length === 0 ? entry.name === "Default" : keeps(below))
        yield* filesBelow(root, below, keeps);
    } else if (entry.isFile() && keeps(below)) {
      const file = join(root, ...below);
      const { size } = await stat(file);
      yield { path: below, size, body: chunksOf(Bun.file(file).stream()) };
    }
  }
}

/** Pages that can be opened again, in the order of the tabs. */
async function openTabs(browser: LaneBrowser): Promise<string[]> {
  const { targetInfos } = await browser.connection.root.send("Target.getTargets");
  return targetInfos
    .filter(({ type, url }) => type === "page" && /^(https?:|about:blank)/.test(url))
    .map(({ url }) => url)
    .toReversed();
}

/** They replace the blank page that a browser starts with; Chromium's own popups are pages too, and stay. */
async function reopenTabs(browser: LaneBrowser, tabs: string[]): Promise<void> {
  const { root } = browser.connection;
  const { targetInfos } = await root.send("Target.getTargets");
  const first = targetInfos.find(({ type, url }) => type === "page" && url === "about:blank");
  for (const url of tabs) await root.send("Target.createTarget", { url });
  if (first && tabs.length > 0) await root.send("Target.closeTarget", { targetId: first.targetId });
}
