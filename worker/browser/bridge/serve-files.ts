import { createReadStream } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { byteRangeOf } from "#shared/kit/byte-range.ts";
import type { SessionFiles, StoredFile } from "../session/live-session.ts";

/** The path of a call, relative to its session: `blobs/{id}`, `uploads/{id}`, `files/{name}`. */
const PLACE = /^(blobs|uploads|files)\/([^/]+)$/;

/**
 * Serves one call about a session's files; false when it is about something else or there is no such file.
 * @throws AppError of the session's files, or when the other side breaks off.
 */
export async function serveFiles(
  files: SessionFiles,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  const [, kind, raw = ""] = PLACE.exec(path) ?? [];
  const name = decode(raw);
  if (kind === undefined || name === null) return false;
  if (kind === "uploads") {
    if (request.method === "PUT") await takeUpload(files, name, request);
    else if (request.method === "DELETE") files.dropUpload(name);
    else return false;
    response.writeHead(204).end();
    return true;
  }
  if (request.method !== "GET") return false;
  const file = kind === "blobs" ? files.openBlob(name) : files.openDownload(name);
  if (!file) return false;
  await send(file, request.headers.range, response);
  return true;
}

function decode(raw: string): string | null {
  try {
    return decodeURIComponent(raw);
  } catch {
    return null;
  }
}

/** An upload that breaks off leaves nothing behind. */
async function takeUpload(files: SessionFiles, id: string, request: IncomingMessage) {
  const upload = files.createUpload(id);
  try {
    for await (const chunk of request) upload.write(chunk as Buffer);
    upload.end();
  } finally {
    upload.discard();
  }
}

async function send(
  { path, size, mime }: StoredFile,
  header: string | undefined,
  response: ServerResponse,
): Promise<void> {
  const range = byteRangeOf(header, size);
  const common = { "Content-Type": mime, "Accept-Ranges": "bytes" };
  if (range === null) {
    response.writeHead(200, { ...common, "Content-Length": size });
    await pipeline(createReadStream(path), response);
  } else if (range === "outside") {
    response.writeHead(416, { "Content-Range": `bytes */${size}` }).end();
  } else {
    response.writeHead(206, {
      ...common,
      "Content-Length": range.end - range.start + 1,
      "Content-Range": `bytes ${range.start}-${range.end}/${size}`,
    });
    await pipeline(createReadStream(path, range), response);
  }
}
