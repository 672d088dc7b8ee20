import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

const ALLOW = 1;

/**
 * First-run state of a plain profile: nothing that pops up over a page. Enterprise policies would be stronger (pages could
 * not be talked out of them), but Chromium reads those from root's directories only.
 */
const PREFERENCES = {
  autofill: { credit_card_enabled: false, profile_enabled: false },
  browser: { check_default_browser: false, has_seen_welcome_page: true },
  credentials_enable_service: false,
  credentials_enable_autosignin: false,
  download: { prompt_for_download: false },
  plugins: { always_open_pdf_externally: true },
  // The dialog would stop the page for as long as nobody answers it.
  printing: { enabled: false },
  profile: {
    // No page can see this one. Else the second file that a page starts by itself would be asked about, and refused.
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
 * Of all profiles. Chromium opens 32 connections to a proxy at a time, and six requests that hang on each of six hosts
 * would stop a lane; 99 is the most it takes. A dialog for files would let whoever watches the lane, or has a page clicked,
 * browse the worker's disk: Chromium cancels every choice at once, also that of a file system handle. What CDP clients and
 * the API set is no choice.
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
