/** Whether `path` is one of a page whose pattern has `:name` for each segment that varies. */
export function isPagePath(pattern: string, path: string): boolean {
  const wanted = pattern.split("/");
  const given = path.split("/");
  return (
    wanted.length === given.length &&
    wanted.every((part, i) => (part.startsWith(":") ? given[i] !== "" : part === given[i]))
  );
}

/** What `/` shows. */
export const homePath = (): string => "/ui/home";
