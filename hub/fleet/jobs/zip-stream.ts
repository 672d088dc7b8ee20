import { makeZip } from "client-zip";

interface Reader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel(reason?: unknown): Promise<void>;
}

export interface ZipEntry {
  name: string;
  input: string | ReadableStream<Uint8Array>;
  lastModified: Date;
}

type Body = ReadableStream<Uint8Array>;
/** Hands a body to the zip, which has one open at a time. */
export type Opener = (body: Body) => Body;

/**
 * A zip of `entries` as a stream, stored without compression. Zip64 where the sizes need it. None of its bodies is
 * opened before the reader asks for it.
 */
export function streamZip(entries: (open: Opener) => AsyncGenerator<ZipEntry>): Body {
  const source = openOneByOne();
  const zip = makeZip(entries(source.open)).getReader();
  return passOn(zip, async (reason) => {
    await source.close();
    // client-zip reports the cancellation to the generator as an error.
    await zip.cancel(reason).catch(() => {});
  });
}

/**
 * When the archive is cancelled, client-zip drops the body it is reading without cancelling it: the file would stay
 * open until the garbage collector finds it.
 */
function openOneByOne() {
  let open: Reader | null = null;
  let closed = false;
  return {
    open: (body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> => {
      open = body.getReader();
      // The store was still opening it when the reader left.
      if (closed) void open.cancel();
      return passOn(open);
    },
    close: async () => {
      closed = true;
      await open?.cancel();
    },
  };
}

/** What `reader` gives, asked for piece by piece; `onCancel` when nobody wants the rest. */
const passOn = (
  reader: Reader,
  onCancel?: (reason: unknown) => Promise<void>,
): ReadableStream<Uint8Array> =>
  new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const { done, value } = await reader.read();
        if (done || !value) controller.close();
        else controller.enqueue(value);
      },
      ...(onCancel ? { cancel: onCancel } : {}),
    },
    { highWaterMark: 0 },
  );
