import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LOCAL_STATE, writePreferences } from "../process/preferences.ts";

type Json = Record<string, unknown>;

/** Startup page: a new tab, so that neither the last session's windows nor pinned pages open next to the job's. */
const OPEN_NEW_TAB = 5;

const member = (of: Json, name: string): Json => {
  const value = of[name];
  const object = typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
  of[name] = object;
  return object as Json;
};

/** In a large profile these files have 2 MB; anything larger is something else. */
const MAX_JSON_BYTES = 32 * 1024 * 1024;

async function readJson(path: string): Promise<Json | null> {
  try {
    if ((await stat(path)).size > MAX_JSON_BYTES) return null;
    const value: unknown = JSON.parse(await readFile(path, "utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Json)
      : null;
  } catch {
    return null;
  }
}

/**
 * Makes a profile copied from elsewhere start as if it had been closed properly: no crash bubble, no windows of the
 * last session, no downloads into somebody's home, no locks, no extensions, and as the only profile of the directory.
 */
export async function normaliseProfile(user_data: string): Promise<void> {
  for (const name of await readdir(user_data))
    if (name.startsWith("Singleton")) await rm(join(user_data, name), { force: true });
  await normalisePreferences(user_data);
  await forgetExtensions(join(user_data, "Default", "Secure Preferences"));
  await normaliseLocalState(join(user_data, "Local State"));
}

async function normalisePreferences(user_data: string): Promise<void> {
  const path = join(user_data, "Default", "Preferences");
  const preferences = await readJson(path);
  if (!preferences) return writePreferences(user_data);
  Object.assign(member(preferences, "profile"), { exit_type: "Normal", exited_cleanly: true });
  const session = member(preferences, "session");
  session.restore_on_startup = OPEN_NEW_TAB;
  delete session.startup_urls;
  delete preferences.pinned_tabs;
  // Chromium heeds the proxy of an entry that claims to be its own component, even if it loads no extension.
  delete preferences.extensions;
  const browser = member(preferences, "browser");
  Object.assign(browser, { check_default_browser: false, has_seen_welcome_page: true });
  // Removes the window placement on the other screen.
  delete browser.window_placement;
  Object.assign(member(preferences, "webrtc"), { ip_handling_policy: "disable_non_proxied_udp" });
  const download = member(preferences, "download");
  download.prompt_for_download = false;
  delete download.default_directory;
  delete member(preferences, "savefile").default_directory;
  await writeFile(path, JSON.stringify(preferences), { mode: 0o600 });
}

/** The other file in which Chromium may keep what is installed. */
async function forgetExtensions(path: string): Promise<void> {
  const secure = await readJson(path);
  if (!secure) return rm(path, { recursive: true, force: true });
  delete secure.extensions;
  await writeFile(path, JSON.stringify(secure), { mode: 0o600 });
}

/** Chromium opens the profile that was used last; the only one here is called Default. */
async function normaliseLocalState(path: string): Promise<void> {
  const state = (await readJson(path)) ?? {};
  const profile = member(state, "profile");
  Object.assign(profile, {
    last_used: "Default",
    last_active_profiles: ["Default"],
    profiles_order: ["Default"],
  });
  delete profile.info_cache;
  // Choices in chrome://flags would become switches of the lane's Chromium.
  delete member(state, "browser").enabled_labs_experiments;
  Object.assign(member(state, "net"), LOCAL_STATE.net);
  Object.assign(member(state, "select_file_dialogs"), LOCAL_STATE.select_file_dialogs);
  await writeFile(path, JSON.stringify(state), { mode: 0o600 });
}
