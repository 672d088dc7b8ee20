import { Readable, type Transform } from "node:stream";

export type Chunks = AsyncIterable<Uint8Array>;

/** `chunks` sent through a node transform, one piece at a time. Ending it early ends the source as well. */
export async function* through(chunks: Chunks, transform: Transform): AsyncGenerator<Uint8Array> {
  const source = Readable.from(chunks);
  source.on("error", (err) => transform.destroy(err));
  // The loop below reports errors; one after its end would have no listener and would end the process.
  transform.on("error", () => {});
  source.pipe(transform);
  try {
    for await (const chunk of transform) yield chunk;
  } finally {
    source.destroy();
    transform.destroy();
  }
}

/** A web stream of `chunks` that does not read ahead. Cancelling it ends the source. */
export function streamOf(chunks: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      pull: async (controller) => {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => void (await chunks.return(undefined)),
    },
    { highWaterMark: 0 },
  );
}

/** The chunks of a web stream; ends it in any case. */
export async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  let done = false;
  try {
    while (!done) {
      const next = await reader.read();
      done = next.done;
      if (next.value) yield next.value;
    }
  } finally {
    if (!done) await reader.cancel().catch(() => {});
  }
}
