/** A label as it is written in a filter: `key:value`, or `key` for any value; keys have no colon. */
export interface LabelFilter {
  key: string;
  value: string | null;
}

export const readLabelFilter = (text: string): LabelFilter => {
  const colon = text.indexOf(":");
  return colon === -1
    ? { key: text, value: null }
    : { key: text.slice(0, colon), value: text.slice(colon + 1) };
};
