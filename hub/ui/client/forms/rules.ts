/** What the API's schema says about one field of a body, for a form that fills it in. */
export interface FieldRules {
  type: "text" | "number" | "switch" | "choice" | "list" | "other";
  /** The body must have it. */
  required?: true;
  /** It may be null. */
  nullable?: true;
  /** What holds when the body leaves it out. */
  default?: unknown;
  description?: string;
  /** "s", "px", "bytes" */
  unit?: string;
  integer?: true;
  min?: number;
  max?: number;
  /** Characters of a text, items of a list. */
  min_length?: number;
  max_length?: number;
  /** Source of a regular expression, and the API's error for a text that does not match it. */
  pattern?: string;
  pattern_fault?: string;
  /** What the API calls the texts that match the pattern, where it has a name for them. */
  format?: "datetime";
  choices?: string[];
  /** Of a list. */
  items?: FieldRules;
}

type Fields<T> = keyof NonNullable<T> & string;
type Below<T, K extends string> =
  NonNullable<T> extends readonly unknown[] | string
    ? never
    : NonNullable<T> extends object
      ? `${K}.${Fields<T>}`
      : never;

/** Where a field is in the body: "priority", "backoff.base_s". */
export type PathOf<T> = { [K in Fields<T>]: K | Below<NonNullable<T>[K], K> }[Fields<T>];
export type RulesOf<T> = Record<PathOf<T>, FieldRules>;
/** The rules of some body, by the paths of its fields. */
export type Rules = Record<string, FieldRules>;
