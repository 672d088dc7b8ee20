import { useCallback, useMemo, useState } from "react";
import { useSearchParams } from "wouter";

/**
 * Filters of a page, kept in its address: a link shows the same. A value like its default is left out of the address.
 * @param defaults are taken at the first call.
 */
export function useFilters<T extends Record<string, string>>(defaults: T) {
  const [initial] = useState(defaults);
  const [params, setParams] = useSearchParams();
  const filters = useMemo(() => {
    const named = Object.entries(initial).map(([name, value]) => [name, params.get(name) ?? value]);
    return Object.fromEntries(named) as T;
  }, [params, initial]);
  const set = useCallback(
    (changed: Partial<T>, { push = false } = {}) =>
      setParams(
        (before) => {
          const next = new URLSearchParams(before);
          for (const [name, value] of Object.entries(changed)) {
            if (value === undefined || value === "" || value === initial[name]) next.delete(name);
            else next.set(name, String(value));
          }
          return next;
        },
        { replace: !push },
      ),
    [setParams, initial],
  );
  return [filters, set] as const;
}
