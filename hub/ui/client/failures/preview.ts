import type { Act, Action } from "./acting.ts";

/**
 * How many an action would be. It is counted once, when the dialog opens or when somebody chooses another target: the
 * count is a call that the audit log records (rules/access#audit-log), so neither the clock nor a change repeats it.
 */
export const previewOf = (
  key: readonly unknown[],
  act: Act,
  action: Action | null,
  to?: string,
) => ({
  queryKey: ["preview", ...key, action, to],
  queryFn: () => act(action ?? "retry", { dry_run: true, ...(to === undefined ? {} : { to }) }),
  enabled: action !== null && (action !== "move" || to !== undefined),
  staleTime: "static" as const,
  refetchInterval: false as const,
  refetchOnWindowFocus: false,
  // The next dialog counts anew.
  gcTime: 0,
});
