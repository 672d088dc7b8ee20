import { readLabelFilter } from "#shared/protocol/label-text.ts";
import { faultIn } from "./faults.ts";
import { labelRules } from "./rules-macro.ts" with { type: "macro" };

const RULES = labelRules();

type Labels = Readonly<Record<string, string>>;

/** Each as it is written in forms and filters, in the order of their keys. */
export const labelTexts = (labels: Labels): string[] =>
  Object.entries(labels)
    .map(([key, value]) => `${key}:${value}`)
    .sort();

/** What a form begins with: the labels that its address names, or those of an earlier job. */
export function labelsWritten(params: URLSearchParams, earlier: Labels | undefined): string[] {
  const named = params.getAll("label");
  return named.length > 0 ? named : labelTexts(earlier ?? {});
}

function faultOfLabel(text: string, key: string, value: string | null): string | undefined {
  if (value === null) return `“${text}” is not a label: write key:value`;
  const fault = faultIn(RULES.key, key) ?? faultIn(RULES.value, value);
  return fault && `“${text}”: ${fault}`;
}

/** Labels as a person wrote them, `key:value` each, and the first thing that is wrong with them. */
export function readLabels(written: readonly string[]): {
  value: Record<string, string>;
  fault: string | undefined;
} {
  const labels = new Map<string, string>();
  const faults: (string | undefined)[] = [];
  for (const text of written) {
    const read = readLabelFilter(text);
    const key = read.key.trim();
    const value = read.value === null ? null : read.value.trim();
    faults.push(faultOfLabel(text, key, value));
    if (labels.has(key)) faults.push(`“${key}” is there twice, and a key has one value`);
    labels.set(key, value ?? "");
  }
  if (labels.size > RULES.most) faults.push(`at most ${RULES.most} labels`);
  return { value: Object.fromEntries(labels), fault: faults.find((fault) => fault !== undefined) };
}
