import { MAX_ASSET_NAME_BYTES } from "#shared/protocol/limits.ts";

/** Returns a name without a path or control characters that is not hidden and short enough for every file system. */
export function safeFileName(name: string): string {
  const plain = name
    .normalize("NFC")
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
    .replace(/[\u0000-\u001f\u007f/\\:*?"<>|]/g, "_")
    .replace(/^\.+/, "_")
    .trim();
  const dot = plain.lastIndexOf(".");
  const ext = dot > 0 && plain.length - dot <= 16 ? plain.slice(dot) : "";
  const stem = ext === "" ? plain : plain.slice(0, dot);
  return `${cut(stem, MAX_ASSET_NAME_BYTES - Buffer.byteLength(ext))}${ext}` || "file";
}

function cut(text: string, bytes: number): string {
  let result = "";
  let size = 0;
  for (const char of text) {
    size += Buffer.byteLength(char);
    if (size > bytes) break;
    result += char;
  }
  return result;
}

/** `name`, or `name (2)` and so on when it is taken. */
export function uniqueName(name: string, taken: (name: string) => boolean): string {
  const safe = safeFileName(name);
  const dot = safe.lastIndexOf(".");
  const [stem, ext] = dot > 0 ? [safe.slice(0, dot), safe.slice(dot)] : [safe, ""];
  for (let n = 1; ; n += 1) {
    const candidate = n === 1 ? safe : `${stem} (${n})${ext}`;
    if (!taken(candidate)) return candidate;
  }
}
