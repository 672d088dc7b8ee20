/** Only the fields that have a value, for callees to whom an undefined one is not the same as none. */
export const givenFields = <T extends object>(
  fields: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
