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

/** `1.5 MB` style size of `bytes`, for `size_h` (rules/capture#assets) and the asset table. */
export function humanSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["KB", "MB", "GB", "TB"];
  let value = bytes / 1024;
  let unit = 0;
  while (value >= 1023.95 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value.toFixed(1)} ${units[unit]}`;
}
