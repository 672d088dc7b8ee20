import { linkSync, lstatSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import mime from "mime";
import type { Protocol } from "../cdp/connection.ts";
import type { LaneBrowser } from "../lanes/lane-browser.ts";
import { uniqueName } from "./file-names.ts";
import type { DownloadedFile, SessionFiles, StoredFile } from "./session-files.ts";

/** Limit of listed files; beyond it the oldest are removed, with their bytes. */
const MAX_FILES = 1_000;

const OCTETS = "application/octet-stream";
/** The browser's id of a download; the file has this name from the moment it is whole. */
const GUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Returns a regular file that exists. */
function stored(path: string, type: string): StoredFile | null {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat?.isFile() ? { path, size: stat.size, mime: type } : null;
}

interface Row extends DownloadedFile {
  guid: string;
  path: string;
}

export interface Downloads extends Pick<SessionFiles, "listDownloads" | "openDownload"> {
  /**
   * From now on this browser's downloads go to its run directory, under numbers. Not `alone`: a recorder has them put
   * there, and takes each file away the moment it is whole; a second link to it stays. Must be called before the
   * recorder attaches, so that the file is still there.
   */
  start(browser: LaneBrowser, options: { alone: boolean }): Promise<void>;
  /** Empties the list and removes its files; a file that is still downloading is no longer listed. */
  forget(): void;
}

const rowOf = (
  { guid, url }: Protocol.Browser.DownloadWillBeginEvent,
  name: string,
  dir: string,
): Row => ({
  guid,
  name,
  path: join(dir, guid),
  size: 0,
  mime: mime.getType(name) ?? OCTETS,
  url: url.slice(0, 4_096),
  state: "in_progress",
  created_at: Date.now(),
});

/** Gives the file a second name while there is room beyond what the recorder keeps, or it could not be opened. */
function keep(path: string, has_room: boolean): string {
  const kept = `${path}.kept`;
  try {
    if (has_room) linkSync(path, kept);
  } catch {
    // It was cancelled before its first byte, or the file system has no links.
  }
  return kept;
}

/** Tracks what a session's browser downloads (rules/sessions#downloads-of-a-session), bounded in number and bytes. */
export function createDownloads({ max_bytes }: { max_bytes: number }): Downloads {
  const rows = new Map<string, Row>();

  const bytes = () => [...rows.values()].reduce((sum, { size }) => sum + size, 0);
  const drop = (row: Row): void => {
    rows.delete(row.name);
    rmSync(row.path, { force: true });
  };
  /** The run directory of the browser in use. */
  let directory: string | null = null;
  const start: Downloads["start"] = async ({ connection, dirs }, { alone }) => {
    const { root } = connection;
    directory = dirs.downloads;
    const byGuid = new Map<string, Row>();
    const onBegin = (p: Protocol.Browser.DownloadWillBeginEvent): void => {
      const name = uniqueName(p.suggestedFilename || "download", (taken) => rows.has(taken));
      const row = rowOf(p, name, dirs.downloads);
      rows.set(name, row);
      byGuid.set(p.guid, row);
      const [oldest] = rows.values();
      if (rows.size > MAX_FILES && oldest && oldest !== row) drop(oldest);
    };
    const onProgress = (p: Protocol.Browser.DownloadProgressEvent): void => {
      const row = byGuid.get(p.guid);
      if (row?.state !== "in_progress") return;
      row.size = p.receivedBytes;
      if (p.filePath) row.path = p.filePath;
      if (p.state === "inProgress") {
        // A recorder has its own limits.
        if (alone && bytes() > max_bytes) root.post("Browser.cancelDownload", { guid: p.guid });
        return;
      }
      byGuid.delete(p.guid);
      row.state = p.state === "completed" ? "completed" : "canceled";
      // A small file is whole before anybody hears that it grows.
      if (alone && row.state === "completed" && bytes() > max_bytes) {
        row.state = "canceled";
        rmSync(row.path, { force: true });
      }
      if (!alone) row.path = keep(row.path, bytes() <= max_bytes);
      const left = row.state === "completed" ? row.size : 0;
      row.size = statSync(row.path, { throwIfNoEntry: false })?.size ?? left;
    };
    root.on("Browser.downloadWillBegin", onBegin);
    root.on("Browser.downloadProgress", onProgress);
    if (!alone) return;
    await root.send("Browser.setDownloadBehavior", {
      behavior: "allowAndName",
      downloadPath: dirs.downloads,
      eventsEnabled: true,
    });
  };
  return {
    start,
    forget: () => {
      for (const row of [...rows.values()]) drop(row);
    },
    listDownloads: () => [...rows.values()].map(({ guid: _guid, path: _path, ...file }) => file),
    openDownload: (name) => {
      const row = rows.get(name) ?? [...rows.values()].find(({ guid }) => guid === name);
      // The file has its name only when it is whole, and a CDP client may learn of that before this process does.
      if (row) return row.state === "canceled" ? null : stored(row.path, row.mime);
      // A CDP client has created its context for itself: nobody else learns of its downloads or their names.
      if (directory === null || !GUID.test(name)) return null;
      return stored(join(directory, name), OCTETS);
    },
  };
}
