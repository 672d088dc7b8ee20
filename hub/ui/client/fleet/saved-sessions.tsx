import type { ReactNode } from "react";
import { useLocation } from "wouter";
import { knownOf } from "../lib/filters.ts";
import { withQuery } from "../lib/http.ts";
import { SavedLists } from "../parts/saved-lists.tsx";

/** Of the wall and of past sessions together; `status` says which of them a saved list is of: "" or "ended". */
const NONE = { status: "", worker: "", state: "", q: "" };
type SessionFilters = typeof NONE;

interface SavedSessionsProps {
  filters: Partial<SessionFilters>;
  /** What the list is called without filters, where it can be without. */
  all?: string;
  count?: (filters: SessionFilters) => ReactNode;
}

/** Saved lists of sessions, open ones and past ones: a name is taken for both. */
export function SavedSessions({ filters, count, ...rest }: SavedSessionsProps) {
  const [, navigate] = useLocation();
  return (
    <SavedLists
      {...rest}
      page="sessions"
      filters={{ ...NONE, ...filters }}
      count={(saved) => count?.(knownOf(NONE, saved))}
      onChoose={(saved) => {
        const { status, ...narrowed } = knownOf(NONE, saved);
        navigate(withQuery(status === "ended" ? "/ui/browsers/past" : "/ui/browsers", narrowed));
      }}
    />
  );
}
