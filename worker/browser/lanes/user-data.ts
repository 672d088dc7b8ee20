import type { LaneArchive, LaneBrowser, RunDirs } from "./lane-browser.ts";

/** What a browser is started on: a plain profile, one that `seed` fills first, or one that an earlier browser left. */
export interface UserData {
  /** Receives the path of the user-data directory, which holds a plain profile. */
  seed?: (user_data: string) => Promise<void>;
  /** Directories of a browser that was shut down. */
  dirs?: RunDirs;
  /** Answers everything that the browser requests, from its start on. */
  archive?: LaneArchive | null;
  ignore_https_errors?: boolean;
  /** PEM of those that it trusts besides Chromium's own and its worker's. */
  certificate_authorities?: string | null;
}

export interface BrowserWish extends Omit<UserData, "dirs"> {
  headless: boolean;
}

/** What a browser has for its whole life, of a wish or of a browser that is to be started again. */
export const startedWith = ({
  archive = null,
  ignore_https_errors = false,
  certificate_authorities = null,
}: Pick<UserData, "archive" | "ignore_https_errors" | "certificate_authorities">) => ({
  archive,
  ignore_https_errors,
  certificate_authorities,
});
type StartedWith = ReturnType<typeof startedWith>;

/** Whether it takes every certificate that is to be taken. */
export const trusts = (browser: LaneBrowser, wanted: StartedWith): boolean =>
  (!wanted.ignore_https_errors || browser.ignore_https_errors === true) &&
  (wanted.certificate_authorities === null ||
    wanted.certificate_authorities === browser.certificate_authorities);
