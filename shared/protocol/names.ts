import { MAX_ASSET_NAME_BYTES } from "./limits.ts";

/**
 * Whether a name is allowed for an asset: one path segment that is safe on every file system. No separators, control
 * characters, characters Windows refuses, leading or trailing dot or space, and no device name.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what is refused
const FORBIDDEN = /[\u0000-\u001f\u007f<>:"/\\|?*%#]/;
const DEVICE = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?$/i;

export function isSafeName(name: string): boolean {
  return (
    name.length > 0 &&
    new TextEncoder().encode(name).length <= MAX_ASSET_NAME_BYTES &&
    !FORBIDDEN.test(name) &&
    !/^[. ]|[. ]$/.test(name) &&
    !DEVICE.test(name) &&
    name.normalize("NFC") === name
  );
}
