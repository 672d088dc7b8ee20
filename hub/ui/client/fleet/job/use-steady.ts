import { useEffect, useState } from "react";

/** Of a run of which nothing is to be seen before it is over. */
const SHORT_MS = 1_500;

/** A session once it has lasted: connecting to the screen of one that ends at once shows nothing. */
export function useSteady(session_id: string | null): string | null {
  const [steady, setSteady] = useState<string | null>(null);
  useEffect(() => {
    if (session_id === null) return;
    const timer = setTimeout(() => setSteady(session_id), SHORT_MS);
    return () => clearTimeout(timer);
  }, [session_id]);
  return session_id === null || steady !== session_id ? null : steady;
}
