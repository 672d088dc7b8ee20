/** A body that is sent unchanged. */
export type CallBody =
  | string
  | Blob
  | FormData
  | Uint8Array<ArrayBuffer>
  | ReadableStream<Uint8Array>;
