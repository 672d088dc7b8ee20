import { type GuardedPost, guardedPost } from "#shared/kit/guarded-post.ts";

export interface PostJson extends GuardedPost {
  max_bytes: number;
}

/**
 * Posts JSON and returns the answer as it is.
 * @throws RefusedAddress, RangeError when the answer is longer than `max_bytes`, or what the network threw
 */
export async function postJson({
  max_bytes,
  ...post
}: PostJson): Promise<{ status: number; text: string }> {
  const response = await guardedPost(post);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > max_bytes) throw new RangeError(`the answer is longer than ${max_bytes} bytes`);
      chunks.push(chunk);
    }
  } catch (err) {
    throw post.signal.aborted ? post.signal.reason : err;
  } finally {
    response.destroy();
  }
  return { status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8") };
}
