import { failureOf } from "#shared/client/http.ts";
import { pathOf } from "#shared/client/operation.ts";
import type { Profile } from "#shared/protocol/schema/profile.ts";
import { call } from "../../lib/http.ts";

export interface UploadState {
  /** Bytes that have left this browser, and how many there are. */
  sent: number;
  total: number;
}

/** The media type that an archive's name suggests; the API refuses what is neither. */
const typeOf = (file: File): string =>
  /\.tar$/i.test(file.name) ? "application/x-tar" : "application/gzip";

/** A profile name from a file's name: "Work Profile.tar.gz" gives work-profile. */
export const nameFrom = (file_name: string): string =>
  file_name
    .replace(/\.(tar|tar\.gz|tgz|gz)$/i, "")
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 64);

function answerOf(request: XMLHttpRequest): unknown {
  try {
    return JSON.parse(request.responseText);
  } catch {
    return request.responseText;
  }
}

/**
 * Sends the archive as it is on the disk. `fetch` does not report what has been sent, so this uses XMLHttpRequest.
 * @throws FlotillaError, or the signal's reason.
 */
export async function uploadProfile(
  name: string,
  file: File,
  onSent: (state: UploadState) => void,
  signal: AbortSignal,
): Promise<Profile> {
  // Asks for the login, if one is needed, before gigabytes are sent.
  await call("GET /profiles", { signal });
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const cancel = () => request.abort();
    signal.addEventListener("abort", cancel);
    request.upload.onprogress = ({ loaded, total }) => onSent({ sent: loaded, total });
    request.onloadend = () => {
      signal.removeEventListener("abort", cancel);
      if (signal.aborted) reject(signal.reason);
      else if (request.status >= 200 && request.status < 300) resolve(answerOf(request) as Profile);
      else if (request.status === 0) reject(new Error("the connection was lost during the upload"));
      else reject(failureOf(request.status, answerOf(request)));
    };
    request.open("POST", pathOf("POST /profiles/{name}", { params: { name } }));
    request.setRequestHeader("content-type", typeOf(file));
    request.send(file);
  });
}
