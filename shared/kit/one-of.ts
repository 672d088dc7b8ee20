/** `a, b or c`, for messages. */
export const oneOf = (names: readonly string[]): string =>
  new Intl.ListFormat("en-GB", { type: "disjunction" }).format(names);
