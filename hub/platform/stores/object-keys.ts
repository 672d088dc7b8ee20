import { badRequest } from "#shared/kit/errors.ts";
import { isSafeName } from "#shared/protocol/names.ts";

const MAX_KEY_BYTES = 1_024;

/**
 * The segments of `key`, each a safe name (shared/protocol/names.ts): nothing absolute, no empty segment, no leading dot, no
 * control character, so a key can never leave the store's directory or meet its own files.
 * @throws AppError bad_request.
 */
export function keySegments(key: string): string[] {
  const segments = key.split("/");
  if (new TextEncoder().encode(key).length > MAX_KEY_BYTES || !segments.every(isSafeName))
    throw badRequest(`object key ${JSON.stringify(key.slice(0, 100))} is not made of safe names`);
  return segments;
}
