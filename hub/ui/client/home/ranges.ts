import type { FigureRange } from "#shared/protocol/schema/figures.ts";

/** As they stand in the address, with what a person reads. */
export const RANGES: { value: FigureRange; label: string }[] = [
  { value: "1h", label: "1 h" },
  { value: "6h", label: "6 h" },
  { value: "24h", label: "24 h" },
  { value: "7d", label: "7 d" },
];

export const DEFAULT_RANGE: FigureRange = "24h";

/** What people write into addresses is no range. */
export const rangeOf = (text: string): FigureRange =>
  RANGES.find(({ value }) => value === text)?.value ?? DEFAULT_RANGE;

/** What a bar stands for: an hour, 15 minutes. */
export function bucketText(bucket_s: number): string {
  if (bucket_s === 3_600) return "hour";
  return bucket_s > 3_600 ? `${bucket_s / 3_600} hours` : `${bucket_s / 60} minutes`;
}
