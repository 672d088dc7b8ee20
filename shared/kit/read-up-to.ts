/** The bytes of an answer or of a file after the first `skip`, at most `most` of them. `cut`: there was more. */
export async function readUpTo(
  { body }: Pick<Response, "body">,
  most: number,
  skip = 0,
): Promise<{ bytes: Uint8Array; cut: boolean }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  let passing = skip;
  const reader = body?.getReader();
  if (!reader) return { bytes: new Uint8Array(), cut: false };
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { bytes: Buffer.concat(chunks), cut: false };
      // What is passed over is not kept: it may be as long as a page likes.
      const kept = value.subarray(Math.min(passing, value.length));
      passing -= value.length - kept.length;
      if (kept.length > 0) chunks.push(kept);
      size += kept.length;
      if (size > most) return { bytes: Buffer.concat(chunks).subarray(0, most), cut: true };
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
