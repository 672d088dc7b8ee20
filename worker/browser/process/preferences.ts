import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

const ALLOW = 1;

/**
 * First-run state of a plain profile: nothing pops up over a page. Enterprise policies would be stronger (nobody
 * could change them in the browser), but Chromium reads them only from root's directories.
 */
const PREFERENCES = {
  autofill: { credit_card_enabled: false, profile_enabled: false },
  browser: { check_default_browser: false, has_seen_welcome_page: true },
  credentials_enable_service: false,
  credentials_enable_autosignin: false,
  download: { prompt_for_download: false },
  plugins: { always_open_pdf_externally: true },
  // The dialog would stop the page until somebody answers it.
  printing: { enabled: false },
  profile: {
    // No page can see this setting. Without it, the second download that a page starts by itself would need
    // permission and be refused.
    default_content_setting_values: { automatic_downloads: ALLOW },
    exit_type: "Normal",
    password_manager_enabled: false,
    password_manager_leak_detection: false,
  },
  safebrowsing: { enabled: false },
  signin: { allowed: false },
  translate: { enabled: false },
  webrtc: { ip_handling_policy: "disable_non_proxied_udp" },
};

/**
 * Applies to all profiles. Chromium opens 32 connections to a proxy at a time, and six hanging requests to each of
 * six hosts would stop a lane; 99 is the most it accepts. A file dialog would let anyone who watches the lane, or
 * makes a page click, browse the worker's disk: Chromium cancels every file dialog at once, including that of a file
 * system handle. Files that CDP clients and the API set need no dialog.
 */
export const LOCAL_STATE = {
  net: { max_connections_per_proxy: 99 },
  select_file_dialogs: { allowed: false },
};

/** Writes the preferences of a new user-data directory. */
export async function writePreferences(user_data: string): Promise<void> {
  const dir = join(user_data, "Default");
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, "Preferences"), JSON.stringify(PREFERENCES));
  await writeFile(join(user_data, "Local State"), JSON.stringify(LOCAL_STATE));
}
