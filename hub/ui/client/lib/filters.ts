import { useCallback, useMemo, useState } from "react";
import { navigate, useSearch } from "wouter/use-browser-location";

/** The query of the address. Wouter's own hook decodes it twice: %3C in a filter would be read as <. */
export function useParams(): URLSearchParams {
  const search = useSearch();
  return useMemo(() => new URLSearchParams(search), [search]);
}

/** Every filter of a page as a saved list has it: one of another version may have more, or fewer. */
export const knownOf = <T extends Record<string, string>>(
  none: T,
  saved: Readonly<Record<string, string>>,
): T => Object.fromEntries(Object.keys(none).map((name) => [name, saved[name] ?? ""])) as T;

/**
 * Filters of a page, kept in its address: a link shows the same. A value like its default is left out of the address.
 * @param defaults are taken at the first call.
 */
export function useFilters<T extends Record<string, string>>(defaults: T) {
  const [initial] = useState(defaults);
  const params = useParams();
  const filters = useMemo(() => {
    const named = Object.entries(initial).map(([name, value]) => [name, params.get(name) ?? value]);
    return Object.fromEntries(named) as T;
  }, [params, initial]);
  const set = useCallback(
    (changed: Partial<T>, { push = false } = {}) => {
      const next = new URLSearchParams(location.search);
      for (const [name, value] of Object.entries(changed)) {
        if (value === undefined || value === "" || value === initial[name]) next.delete(name);
        else next.set(name, String(value));
      }
      navigate(next.size === 0 ? location.pathname : `?${next}`, { replace: !push });
    },
    [initial],
  );
  return [filters, set] as const;
}
