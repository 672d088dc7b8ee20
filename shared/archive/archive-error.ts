/** An archive that is refused. `message` says why and names the entry; `too_large` when a size or count is exceeded. */
export class ArchiveError extends Error {
  readonly too_large: boolean;
  constructor(
    message: string,
    { too_large = false, cause }: { too_large?: boolean; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.name = "ArchiveError";
    this.too_large = too_large;
  }
}

/** An untrusted entry name for a message: quoted, escaped and short. */
export const quoteEntry = (name: string): string =>
  `entry ${JSON.stringify(name.length > 120 ? `${name.slice(0, 120)}…` : name)}`;
