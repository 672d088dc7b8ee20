import { FlotillaError } from "#shared/client/errors.ts";
import type { Http } from "#shared/client/http.ts";
import { callWithin } from "#shared/kit/call-within.ts";
import { readUpTo } from "#shared/kit/read-up-to.ts";
import { DOCUMENT_NAMES, JOB_DOCUMENTS, type JobDocument } from "#shared/protocol/documents.ts";
import { ToolRefusal } from "./refusal.ts";
import { ofPage, picture, said } from "./results.ts";
import type { Content, ToolCall } from "./tool.ts";

/** Reads a piece of an asset or a document of a job (rules/mcp#results-are-bounded). */

const READ_MS = 60_000;
/** The largest picture that is read; a larger one is refused by its size. */
const MAX_PICTURE_READ = 8 * 1024 * 1024;
const PICTURE = /^image\/(png|jpeg|webp|gif)\b/i;
const TEXT = /^text\/|json|xml|javascript|ecmascript|urlencoded|mpegurl|csv|yaml/i;

/** Those that are text or a picture: archives are downloaded by people. */
export const READABLE_DOCUMENTS = DOCUMENT_NAMES.filter(
  (name) => !JOB_DOCUMENTS[name].mime.endsWith("zip"),
);

/** What has a name: a job may have captured an asset from an address that ends in `/page.html`. */
export const KINDS = ["asset", "document"] as const;

interface Asked {
  job_id: string;
  name: string;
  kind: (typeof KINDS)[number] | null;
  offset: number;
  max_bytes: number;
}

const documentOf = ({ name, kind }: Asked): JobDocument | undefined =>
  kind === "asset" ? undefined : READABLE_DOCUMENTS.find((one) => one === name);

/** Its answer, from `offset` on where the hub can begin there. `skip`: bytes to pass over; `size`: of the whole. */
async function openBody(
  http: Http,
  asked: Asked,
  signal: AbortSignal,
): Promise<{ response: Response; skip: number; size: number | null }> {
  const { job_id: id, name, kind, offset } = asked;
  const call = { timeout_ms: READ_MS, signal };
  const document = documentOf(asked);
  if (document !== undefined) {
    const response = await http.open(`GET /jobs/{id}/${document}`, { ...call, params: { id } });
    return { response, skip: offset, size: null };
  }
  if (kind === "document")
    throw new ToolRefusal(
      `${name} is not a document that can be read: those are ${READABLE_DOCUMENTS.join(", ")}`,
    );
  const headers: Record<string, string> = offset === 0 ? {} : { range: `bytes=${offset}-` };
  const params = { id, name };
  const response = await http.open("GET /jobs/{id}/assets/{name}", { ...call, params, headers });
  const of = /\/(\d+)$/.exec(response.headers.get("content-range") ?? "")?.[1];
  const length = of ?? response.headers.get("content-length");
  return {
    response,
    skip: response.status === 206 ? 0 : offset,
    size: length === null ? null : Number(length),
  };
}

/** The encoding that its type names, if this runtime knows it. */
function decoderOf(mime: string): TextDecoder {
  const named = /charset=["']?([\w-]+)/i.exec(mime)?.[1] ?? "utf-8";
  try {
    return new TextDecoder(named as Bun.Encoding);
  } catch {
    return new TextDecoder();
  }
}

/** @throws DeadlineError when the piece is not there in time, FlotillaError, ToolRefusal */
export const bodyOf = (
  { http, clock, signal }: Pick<ToolCall, "http" | "clock" | "signal">,
  asked: Asked,
): Promise<Content[]> =>
  callWithin(clock, { what: "reading the body", ms: READ_MS, signal }, (over) =>
    readBody(http, asked, over),
  );

async function readBody(http: Http, asked: Asked, signal: AbortSignal): Promise<Content[]> {
  const { response, skip, size } = await openBody(http, asked, signal).catch((err: unknown) => {
    if (err instanceof FlotillaError && err.status === 416) return nothing;
    throw err;
  });
  const mime = response.headers.get("content-type") ?? "application/octet-stream";
  const { offset, max_bytes } = asked;
  const picture_type = PICTURE.exec(mime)?.[0];
  if (picture_type !== undefined) return pictureOf(response, picture_type, offset);
  const { bytes, cut } = await readUpTo(response, max_bytes, skip);
  const decoder = decoderOf(mime);
  const piece = cut && decoder.encoding === "utf-8" ? wholeCharacters(bytes) : bytes;
  if (!TEXT.test(mime) && piece.subarray(0, 1_000).includes(0))
    return [
      said(
        `${nameOf(mime)}${size === null ? "" : ` of ${size} bytes`} is not text: a person can download it at ${http.base_url}/jobs/${asked.job_id}/assets/${encodeURIComponent(asked.name)}`,
      ),
    ];
  if (piece.length === 0) return [said(`there is nothing from byte ${offset} on`)];
  const next = offset + piece.length;
  const of = size === null ? "" : ` of ${size}`;
  const more = cut
    ? [said(`[cut: bytes ${offset} to ${next}${of}; call again with offset ${next}]`)]
    : [];
  return [ofPage(decoder.decode(piece)), ...more];
}

/** UTF-8 without the beginning of a last character whose rest is in the next piece. */
function wholeCharacters(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= 3; back += 1) {
    const byte = bytes.at(-back) ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.subarray(0, -back) : bytes;
  }
  return bytes;
}

/** A type as servers may write it holds anything; this stands outside of what is marked as theirs. */
const nameOf = (mime: string): string =>
  /^[\w.+-]{1,60}\/[\w.+-]{1,60}/.exec(mime)?.[0] ?? "a body";

const nothing = { response: new Response(), skip: 0, size: null };

async function pictureOf(response: Response, mime: string, offset: number): Promise<Content[]> {
  if (offset > 0) {
    await response.body?.cancel();
    return [said("[a picture is answered whole: call again without offset]")];
  }
  const { bytes, cut } = await readUpTo(response, MAX_PICTURE_READ);
  if (cut) return [said(`[the picture has more than ${MAX_PICTURE_READ} bytes]`)];
  return [picture({ mime, base64: Buffer.from(bytes).toString("base64") })];
}
