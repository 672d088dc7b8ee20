/** One number of a scrape. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** What Prometheus' text format says; throws on a line that is none. */
export function readMetrics(text: string): Sample[] {
  const samples: Sample[] = [];
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const found = /^([a-z_:][a-z0-9_:]*)(?:\{(.*)\})? (\S+)$/i.exec(line);
    if (!found) throw new Error(`not a sample: ${line}`);
    const [, name = "", all = "", value = ""] = found;
    const labels: Record<string, string> = {};
    for (const [, key = "", label = ""] of all.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/gi))
      labels[key] = label;
    samples.push({ name, labels, value: Number(value) });
  }
  return samples;
}

/** The value of exactly these labels; null where there is none. */
export const sampleOf = (
  samples: readonly Sample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | null =>
  samples.find((one) => one.name === name && Bun.deepEquals(one.labels, labels))?.value ?? null;
