import { UsageError } from "./exit.ts";

/** The labels of `--label KEY:VALUE`, which may be repeated. @throws UsageError */
export function labelsOf(given: readonly string[] = []): Record<string, string> {
  const labels = new Map<string, string>();
  for (const text of given) {
    const colon = text.indexOf(":");
    if (colon < 1) throw new UsageError(`--label: "${text}" is not KEY:VALUE`);
    labels.set(text.slice(0, colon), text.slice(colon + 1));
  }
  return Object.fromEntries(labels);
}
