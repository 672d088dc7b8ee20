/** `1 file`, `3 files`; `many` for words that take no s. */
export const counted = (n: number | bigint, one: string, many = `${one}s`): string =>
  `${n} ${Number(n) === 1 ? one : many}`;

const STEPS = ["B", "kB", "MB", "GB", "TB"] as const;

/** Bytes as people read them, in powers of a thousand as disks and networks count: 114 B, 1.5 kB, 398 kB. */
export function humanSize(bytes: number): string {
  let value = bytes;
  let step = 0;
  // So that nothing is written as 1000.
  while (value >= 999.5 && step < STEPS.length - 1) {
    value /= 1_000;
    step += 1;
  }
  return `${step === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${STEPS[step]}`;
}

/** `12.3 %`; of what is next to nothing, or next to all, it says neither. */
export function shareText(ratio: number): string {
  const percent = ratio * 100;
  if (percent > 0 && percent < 0.01) return "less than 0.01 %";
  if (percent < 100 && percent > 99.99) return "more than 99.99 %";
  return `${Number(percent.toFixed(2))} %`;
}

const MIB = 1_024 ** 2;

/** A limit. Those of the program are in powers of two: 5 MiB. */
export const limitText = (bytes: number): string =>
  bytes % MIB === 0 ? `${bytes / MIB} MiB` : humanSize(bytes);
