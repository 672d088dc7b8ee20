import { z } from "@hono/zod-openapi";
import { readLabelFilter } from "../label-text.ts";

/** Labels of one job or task, and their length (rules/labels#what-a-label-is). */
export const MAX_LABELS = 16;
const MAX_KEY_LENGTH = 63;
const MAX_VALUE_LENGTH = 200;
/** Labels that one list may ask for. */
const MAX_ASKED = 8;

const LabelKey = z
  .string()
  .max(MAX_KEY_LENGTH, { error: `the key of a label has at most ${MAX_KEY_LENGTH} characters` })
  .regex(/^[A-Za-z0-9][A-Za-z0-9_./-]*$/, {
    error:
      "the key of a label has letters, digits, _ . / and -, and begins with a letter or a digit",
  });
const LabelValue = z
  .string()
  .max(MAX_VALUE_LENGTH)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it refuses
  .regex(/^[^\u0000-\u001f\u007f]*$/, { error: "must not contain control characters" })
  .refine((text) => text.isWellFormed(), { error: "must not contain half a surrogate pair" });

const tooMany = { error: `at most ${MAX_LABELS} labels` };
const isFew = (labels: object): boolean => Object.keys(labels).length <= MAX_LABELS;

/** Labels as they are given with a job or a task. */
export const Labels = z.record(LabelKey, LabelValue).refine(isFew, tooMany);
export type Labels = z.infer<typeof Labels>;

/** Changes of labels: a value sets the label, null removes it, and what is not named stays. */
export const LabelChanges = z.record(LabelKey, LabelValue.nullable()).refine(isFew, tooMany);
export type LabelChanges = z.infer<typeof LabelChanges>;

const Filter = z
  .string()
  .min(1)
  .max(MAX_KEY_LENGTH + 1 + MAX_VALUE_LENGTH);

/** In the query of a list; repeated, every one of them must fit. */
export const LabelQuery = z
  .union([Filter, z.array(Filter).max(MAX_ASKED)])
  .transform((given) => [given].flat().map(readLabelFilter))
  .openapi({
    type: "array",
    items: { type: "string" },
    description: "Those with this label: key:value, or key for any value; several narrow the list",
    example: ["team:growth"],
  });

/** The labels after a change; null when none is left. */
export function changedLabels(before: Labels | null, changes: LabelChanges): Labels | null {
  const after = new Map<string, string>(Object.entries(before ?? {}));
  for (const [key, value] of Object.entries(changes))
    if (value === null) after.delete(key);
    else after.set(key, value);
  return after.size === 0 ? null : Object.fromEntries([...after].sort());
}

/** As they are stored: null for none, in the order of their keys. */
export const storedLabels = (labels: Labels | undefined): Labels | null =>
  changedLabels(null, labels ?? {});
