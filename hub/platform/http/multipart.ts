import type { Readable } from "node:stream";
import { Busboy } from "@fastify/busboy";
import type { Context } from "hono";
import { AppError, badRequest, errorMessage, invalid } from "#shared/kit/errors.ts";

export interface FormFile {
  name: string;
  mime: string;
  /** Must be read to its end, or cancelled, before the next part comes. */
  body: ReadableStream<Uint8Array>;
}

export interface FormLimits {
  /** All files together. */
  max_bytes: number;
  max_files: number;
}

const MAX_FIELDS = 20;
const MAX_FIELD_BYTES = 64 * 1024;

export const isMultipart = (c: Context): boolean =>
  /^multipart\/form-data\b/i.test(c.req.header("content-type") ?? "");

/**
 * Reads a multipart/form-data body part by part, holding no more of it than a buffer.
 * @param take gets each file in turn; an error that it throws ends the reading and is rethrown.
 * @returns the values of each field that is no file, in the order of the form.
 * @throws AppError bad_request for a body that is not a form, too_large above the limits, invalid for too many parts.
 */
export async function readForm(
  c: Context,
  { max_bytes, max_files }: FormLimits,
  take: (file: FormFile) => Promise<void>,
): Promise<Record<string, string[]>> {
  const tooLarge = () =>
    new AppError("too_large", `the files together are larger than ${max_bytes} bytes`);
  if (Number(c.req.header("content-length") ?? 0) > max_bytes + MAX_FIELDS * MAX_FIELD_BYTES)
    throw tooLarge();
  const fields: Record<string, string[]> = Object.create(null);
  const { promise: failed, reject: fail } = Promise.withResolvers<never>();
  failed.catch(() => {});
  const taken: Promise<void>[] = [];
  let bytes = 0;
  const form = openForm(c, max_files);
  const finished = new Promise<void>((resolve) => form.once("finish", resolve));
  form.on("error", (err) => fail(badRequest(`not a valid form: ${errorMessage(err)}`)));
  form.on("field", (name, value, _nameCut, cut) => {
    if (cut) fail(invalid(["body", name.slice(0, 100)], "is too long"));
    const values = fields[name] ?? [];
    values.push(value);
    fields[name] = values;
  });
  for (const limit of ["partsLimit", "filesLimit", "fieldsLimit"] as const)
    form.on(limit, () => fail(invalid(["body"], `at most ${max_files} files and few fields`)));
  form.on("file", (_field, stream, name, _encoding, mime) => {
    stream.on("error", fail);
    const body = webStream(stream, (size) => {
      bytes += size;
      if (bytes <= max_bytes) return;
      const err = tooLarge();
      // Before the upload that it ends fails with its own error.
      fail(err);
      throw err;
    });
    // A part without a file name is still a file when its type says so.
    const work = take({ name: name || "file", mime: mime || "application/octet-stream", body });
    taken.push(work);
    work.catch(fail);
  });
  const reader = c.req.raw.body?.getReader();
  try {
    for (;;) {
      const chunk = await Promise.race([reader?.read(), failed]);
      if (!chunk || chunk.done) break;
      if (form.write(chunk.value)) continue;
      await Promise.race([new Promise((resolve) => form.once("drain", resolve)), failed]);
    }
    form.end();
    await Promise.race([finished, failed]);
    await Promise.race([Promise.all(taken), failed]);
    return fields;
  } finally {
    void reader?.cancel().catch(() => {});
    form.destroy();
    await Promise.allSettled(taken);
  }
}

function openForm(c: Context, max_files: number) {
  try {
    return new Busboy({
      headers: { "content-type": c.req.header("content-type") ?? "" },
      limits: {
        files: max_files,
        fields: MAX_FIELDS,
        parts: max_files + MAX_FIELDS,
        fieldSize: MAX_FIELD_BYTES,
        headerPairs: 100,
      },
    });
  } catch (err) {
    throw badRequest(`not a valid form: ${errorMessage(err)}`);
  }
}

/** Node's stream as a web stream that reads only on demand; `count` may throw to end it. */
function webStream(stream: Readable, count: (size: number) => void): ReadableStream<Uint8Array> {
  const chunks = stream[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    pull: async (to) => {
      const { done, value } = await chunks.next();
      if (done) return to.close();
      count(value.length);
      to.enqueue(value);
    },
    cancel: () => void stream.destroy(),
  });
}
