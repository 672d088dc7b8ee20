/** Passes a body on and calls `fed` for every chunk of it. */
export const noticing = (fed: () => void) =>
  new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, to) => {
      fed();
      to.enqueue(chunk);
    },
  });
